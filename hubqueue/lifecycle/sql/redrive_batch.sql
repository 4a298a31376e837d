-- The rows are locked already, by a statement before: this one sees them, and what has their keys, as they are now.
WITH wanted AS MATERIALIZED (
    SELECT id, kind, dedupe_key, state, queue FROM hubqueue_job WHERE id = ANY (%(ids)s::uuid[])
),
ranked AS MATERIALIZED (
    SELECT
        wanted.*,
        standing.id AS standing_id,
        first_value(wanted.id) OVER (PARTITION BY wanted.kind, wanted.dedupe_key, wanted.state ORDER BY wanted.id DESC)
            AS newest_id
    FROM wanted
    LEFT JOIN hubqueue_job AS standing
        ON standing.kind = wanted.kind AND standing.dedupe_key = wanted.dedupe_key
        AND standing.dedupe_key IS NOT NULL AND standing.state IN ('PARKED', 'READY', 'RUNNING')
        AND standing.id <> wanted.id
),
moved AS (
    UPDATE hubqueue_job AS job
    SET state = 'READY', run_at = hubqueue_now(), attempts = 0, failing_since = NULL, finished_at = NULL
    FROM ranked
    WHERE job.id = ranked.id AND job.state = 'DEAD' AND ranked.standing_id IS NULL
        AND (ranked.dedupe_key IS NULL OR ranked.id = ranked.newest_id)
    RETURNING job.id
),
entered AS (
    INSERT INTO hubqueue_operation (verb, target, job_id, actor, reason, at)
    SELECT %(verb)s, moved.id::text, moved.id, %(actor)s, %(reason)s, hubqueue_now() FROM moved
)
SELECT
    ranked.id,
    moved.id IS NOT NULL,
    ranked.state,
    CASE WHEN ranked.state = 'DEAD'
        THEN coalesce(ranked.standing_id, CASE WHEN ranked.dedupe_key IS NOT NULL AND ranked.id <> ranked.newest_id
            THEN ranked.newest_id END)
    END,
    ranked.queue
FROM ranked
LEFT JOIN moved ON moved.id = ranked.id
