-- Asked again under the row's lock: a dead letter may have been redriven since. What is locked is left for later.
WITH doomed AS (
    SELECT id FROM hubqueue_job
    WHERE id = ANY (%(ids)s::uuid[]) AND (
        (state IN ('SUCCEEDED', 'CANCELLED') AND finished_at < %(finished_before)s)
        OR (state = 'DEAD' AND finished_at < %(dead_before)s)
    )
    FOR UPDATE SKIP LOCKED
),
history AS (
    DELETE FROM hubqueue_failure WHERE job_id IN (SELECT id FROM doomed)
),
gone AS (
    DELETE FROM hubqueue_job WHERE id IN (SELECT id FROM doomed) RETURNING id
)
SELECT count(*) FROM gone
