-- Rows that somebody has locked are passed over: the caller comes again while any is left.
WITH chosen AS MATERIALIZED (
    SELECT id, state FROM hubqueue_job
    WHERE tenant_id = %(tenant)s AND NOT starts_with(kind, %(but)s)
        AND (state = 'READY' OR (state = 'RUNNING' AND stop_requested IS NULL))
    FOR NO KEY UPDATE SKIP LOCKED
),
parked AS (
    UPDATE hubqueue_job AS job SET
        state = CASE chosen.state WHEN 'READY' THEN 'PARKED' ELSE chosen.state END,
        stop_requested = CASE chosen.state WHEN 'RUNNING' THEN 'park' END,
        park_reason = 'restored'
    FROM chosen WHERE job.id = chosen.id AND job.state = chosen.state
    RETURNING job.id
)
SELECT count(*) FROM parked
