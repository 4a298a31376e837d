-- A wake-up landed while the job ran, and the job ended without serving it: a new job of the same key serves it.
WITH ended AS (
    SELECT id, rerun_at FROM hubqueue_job
    WHERE id = %(id)s AND state IN ('DEAD', 'CANCELLED') AND rerun_at IS NOT NULL
),
served AS (
    UPDATE hubqueue_job AS job SET rerun_at = NULL FROM ended WHERE job.id = ended.id RETURNING job.id
)
INSERT INTO hubqueue_job (
    id, kind, queue, priority, tenant_id, payload, dedupe_key, state, run_at, attempts, max_attempts, fence,
    suspect, meta, created_at
)
SELECT
    %(new_id)s, job.kind, job.queue, job.priority, job.tenant_id, job.payload, job.dedupe_key, 'READY',
    ended.rerun_at, 0, job.max_attempts, 0, false, job.meta, hubqueue_now()
FROM ended
JOIN served ON served.id = ended.id
JOIN hubqueue_job AS job ON job.id = ended.id
-- The abandon hook may have enqueued the key already.
ON CONFLICT (kind, dedupe_key) WHERE dedupe_key IS NOT NULL AND state IN ('PARKED', 'READY', 'RUNNING')
DO UPDATE SET run_at = least(hubqueue_job.run_at, excluded.run_at)
