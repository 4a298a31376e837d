-- Whether an attempt still holds a job. Every write after a claim asks this, and nothing else decides it. Inlined.
-- The state is concatenated so that rows are found by their id: the planner, who believes that nothing runs, would walk
-- the index of the running ones, with a dead entry for every job that ran since the oldest snapshot.
CREATE FUNCTION hubqueue_holds(job hubqueue_job, attempt uuid, fence bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT job.id = attempt AND job.state || '' = 'RUNNING' AND job.fence = fence
$$;

-- Locks the rows for the rest of the transaction. A job that is no longer held gives no row.
CREATE FUNCTION hubqueue_hold(attempts uuid[], fences bigint[]) RETURNS TABLE (id uuid) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    FOR i IN 1 .. cardinality(hubqueue_hold.attempts) LOOP
        RETURN QUERY
            SELECT job.id FROM hubqueue_job AS job WHERE hubqueue_holds(job, hubqueue_hold.attempts[i], fences[i])
            FOR NO KEY UPDATE;
    END LOOP;
END
$$;

-- Progress of many attempts, in shares of 1. Rows that are locked, or no longer held, are passed over.
CREATE FUNCTION hubqueue_progress(attempts uuid[], fences bigint[], shares float8[]) RETURNS TABLE (id uuid)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    FOR i IN 1 .. cardinality(attempts) LOOP
        PERFORM 1 FROM hubqueue_job AS job WHERE hubqueue_holds(job, hubqueue_progress.attempts[i], fences[i])
        FOR NO KEY UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        RETURN QUERY
            UPDATE hubqueue_job AS job SET progress = shares[i]
            WHERE hubqueue_holds(job, hubqueue_progress.attempts[i], fences[i])
            RETURNING job.id;
    END LOOP;
END
$$;

-- Every way out of RUNNING. What the row says (a wake-up, an officer's stop request) is read under its lock, which is
-- waited for no longer than patience. An attempt that no longer holds its job gives no row.
CREATE FUNCTION hubqueue_settle(
    attempts uuid[], fences bigint[], patience text, moves text[], waits interval[], ats timestamptz[],
    spends boolean[], codes text[], reasons text[], results text[], suspects boolean[]
) RETURNS TABLE (
    id uuid, state text, attempts_made int, run_at timestamptz, rerun_at timestamptz, moment timestamptz
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    present CONSTANT timestamptz := hubqueue_now();
    next_at timestamptz;
    move text;
BEGIN
    PERFORM set_config('lock_timeout', patience, true);
    FOR i IN 1 .. cardinality(hubqueue_settle.attempts) LOOP
        move := moves[i];
        next_at := coalesce(ats[i], present + waits[i]);
        RETURN QUERY
        UPDATE hubqueue_job AS job
        SET state = CASE
                WHEN move = 'succeed' AND job.rerun_at IS NULL THEN 'SUCCEEDED'
                WHEN move = 'succeed' AND job.stop_requested = 'park' THEN 'PARKED'
                WHEN move = 'succeed' THEN 'READY'
                WHEN job.stop_requested = 'cancel' THEN 'CANCELLED'
                WHEN job.stop_requested = 'park' OR move = 'set aside' THEN 'PARKED'
                WHEN move = 'give up' THEN 'DEAD'
                ELSE 'READY'
            END,
            run_at = CASE
                WHEN move = 'succeed' THEN coalesce(job.rerun_at, job.run_at)
                WHEN move = 'repeat' THEN least(next_at, job.rerun_at)
                ELSE coalesce(next_at, job.run_at)
            END,
            rerun_at = CASE
                WHEN move = 'succeed' THEN NULL
                WHEN move = 'repeat' AND job.stop_requested IS NULL AND job.rerun_at <= next_at THEN NULL
                ELSE job.rerun_at
            END,
            attempts = CASE
                WHEN move = 'repeat' OR (move = 'succeed' AND job.rerun_at IS NOT NULL) THEN 0
                WHEN spends[i] THEN job.attempts
                ELSE greatest(job.attempts - 1, 0)
            END,
            failing_since = CASE
                WHEN move IN ('succeed', 'repeat') THEN NULL
                WHEN spends[i] AND codes[i] IS NOT NULL THEN coalesce(job.failing_since, present)
                ELSE job.failing_since
            END,
            error_code = CASE WHEN move NOT IN ('succeed', 'repeat') THEN coalesce(codes[i], job.error_code) END,
            suspect = coalesce(suspects[i], job.suspect),
            claimed_by = NULL,
            stop_requested = NULL,
            progress = CASE WHEN move = 'succeed' AND job.rerun_at IS NULL THEN job.progress END,
            park_reason = CASE
                WHEN job.stop_requested = 'park' THEN job.park_reason
                WHEN move = 'set aside' AND job.stop_requested IS NULL THEN reasons[i]
            END,
            result = CASE WHEN move = 'succeed' THEN results[i]::jsonb ELSE job.result END,
            finished_at = CASE
                WHEN move = 'succeed' THEN CASE WHEN job.rerun_at IS NULL THEN present END
                WHEN job.stop_requested = 'cancel' OR (job.stop_requested IS NULL AND move = 'give up') THEN present
            END
        WHERE hubqueue_holds(job, hubqueue_settle.attempts[i], fences[i])
        RETURNING job.id, job.state::text, job.attempts, job.run_at, job.rerun_at, present;
    END LOOP;
END
$$;
