-- One statement for one request or ten thousand. A rival's uncommitted row is waited for: if it rolls back we
-- insert, if it commits we collapse, if it finished meanwhile the key is free again and we insert.
WITH given AS (
    SELECT *
    FROM unnest(
        %(ids)s::uuid[], %(kinds)s::text[], %(queues)s::text[], %(priorities)s::smallint[], %(tenants)s::text[],
        %(payloads)s::text[], %(keys)s::text[], %(moments)s::timestamptz[], %(max_attempts)s::int[], %(metas)s::text[]
    ) AS given (id, kind, queue, priority, tenant_id, payload, dedupe_key, run_at, max_attempts, meta)
),
put AS (
    INSERT INTO hubqueue_job AS job (
        id, kind, queue, priority, tenant_id, payload, dedupe_key, state, run_at, attempts, max_attempts, fence,
        suspect, meta, created_at
    )
    SELECT
        id, kind, queue, priority, tenant_id, payload::jsonb, dedupe_key, 'READY', coalesce(run_at, hubqueue_now()),
        0, max_attempts, 0, false, meta::jsonb, hubqueue_now()
    FROM given
    ON CONFLICT (kind, dedupe_key)
        WHERE dedupe_key IS NOT NULL AND state IN ('PARKED', 'READY', 'RUNNING')
    DO UPDATE SET
        priority = least(job.priority, excluded.priority),
        run_at = CASE
            WHEN job.state = 'READY' AND job.attempts = 0 THEN least(job.run_at, excluded.run_at)
            ELSE job.run_at
        END,
        rerun_at = CASE
            WHEN job.state = 'RUNNING' THEN least(job.rerun_at, excluded.run_at)
            WHEN job.state = 'READY' AND job.attempts > 0 AND excluded.run_at > job.run_at
                THEN least(job.rerun_at, excluded.run_at)
            ELSE job.rerun_at
        END
    RETURNING
        id, kind, queue, dedupe_key, state, run_at, CASE WHEN dedupe_key IS NOT NULL THEN payload END AS payload
),
bell AS MATERIALIZED (
    SELECT pg_notify('hubqueue:' || due.queue, '')
    FROM (SELECT DISTINCT queue FROM put WHERE state = 'READY' AND run_at <= hubqueue_now()) AS due
    WHERE due.queue = ANY (%(ring)s::text[])
)
SELECT
    given.id,
    put.id,
    put.state,
    put.payload IS NULL OR put.payload = given.payload::jsonb,
    put.state = 'READY' AND put.run_at <= hubqueue_now(),
    (SELECT count(*) FROM bell)
FROM given
-- One equality, so that ten thousand rows are hashed. An id is new, so it is nobody's key.
JOIN put
    ON put.kind = given.kind
    AND coalesce(put.dedupe_key, put.id::text) = coalesce(given.dedupe_key, given.id::text)
