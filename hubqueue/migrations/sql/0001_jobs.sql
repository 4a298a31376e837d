-- The queue's clock. Stable and inlinable, so it can bound an index scan; the session setting is how tests move it.
CREATE FUNCTION hubqueue_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT statement_timestamp() + coalesce(nullif(current_setting('hubqueue.clock_offset', true), ''), '0')::interval
$$;

-- The number a claim gives is the larger of this and the last one plus 1: it is never given twice, even when a
-- crash of the server lost an asynchronous claim.
CREATE FUNCTION hubqueue_fence() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

-- A claimed job as its worker reads it: by position, in the order of the fields of Claimed in lifecycle/guard.py.
CREATE FUNCTION hubqueue_claimed(job hubqueue_job) RETURNS json LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT json_build_array(
        job.id, job.kind, job.queue, job.priority, job.tenant_id, job.payload, job.dedupe_key, job.run_at, job.attempts,
        job.max_attempts, job.failing_since, job.fence, job.suspect, job.meta, job.created_at, job.claimed_at,
        job.claimed_by
    )
$$;

-- Dead entries of a queue table are many and short-lived: vacuum by their number, not by the table's size, and keep
-- room on the pages.
ALTER TABLE hubqueue_job SET (
    autovacuum_vacuum_scale_factor = 0.0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_delay = 0,
    fillfactor = 85
);
ALTER TABLE hubqueue_worker SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 200);
