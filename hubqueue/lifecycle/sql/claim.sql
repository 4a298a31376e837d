-- The work is done by the function of the first migration; see docs/claim.md for its parts.
SELECT
    job.id, job.kind, job.queue, job.priority, job.tenant_id, job.payload, job.dedupe_key, job.run_at, job.attempts,
    job.max_attempts, job.failing_since, job.fence, job.suspect, job.meta, job.created_at, job.claimed_at, job.claimed_by,
    claimed.next_turn, claimed.next_floors
FROM hubqueue_claim(%s::uuid, %s::text[], %s::int[], %s::int, %s::text[], %s::text[], %s::jsonb) AS claimed,
    LATERAL (SELECT (claimed.job).*) AS job
ORDER BY claimed.place
