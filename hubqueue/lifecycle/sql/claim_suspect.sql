WITH next AS MATERIALIZED (
    SELECT id
    FROM hubqueue_job
    WHERE state = 'READY' AND suspect AND queue = ANY (%(queues)s::text[]) AND run_at <= hubqueue_now()
        AND kind = ANY (%(kinds)s::text[])
        AND NOT EXISTS (
            SELECT 1 FROM hubqueue_pause AS pause
            WHERE (pause.until IS NULL OR pause.until > hubqueue_now())
                AND (
                    (pause.scope = 'queue' AND pause.value = queue)
                    OR (pause.scope = 'kind' AND pause.value = kind)
                    OR (pause.scope = 'tenant' AND pause.value = tenant_id)
                )
        )
    ORDER BY run_at
    LIMIT 1
    FOR NO KEY UPDATE OF hubqueue_job SKIP LOCKED
)
UPDATE hubqueue_job AS job
SET state = 'RUNNING',
    attempts = job.attempts + 1,
    fence = greatest(job.fence + 1, hubqueue_fence()),
    claimed_by = %(worker)s,
    claimed_at = hubqueue_now(),
    progress = NULL,
    rerun_at = CASE WHEN job.rerun_at > hubqueue_now() THEN job.rerun_at END
FROM next
WHERE job.id = next.id
RETURNING json_build_array(hubqueue_claimed(job))::text
