-- Whether an attempt still holds a job. Every write after a claim asks this, and nothing else decides it. Inlined.
-- The state is concatenated so that rows are found by their id: the planner, who believes that nothing runs, would walk
-- the index of the running ones, with a dead entry for every job that ran since the oldest snapshot.
CREATE FUNCTION hubqueue_holds(job hubqueue_job, attempt uuid, fence bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT job.id = attempt AND job.state || '' = 'RUNNING' AND job.fence = fence
$$;

-- Locks the rows of attempts, given as {id, fence}, for the rest of the transaction. A job that is no longer held gives
-- no row.
CREATE FUNCTION hubqueue_hold(attempts jsonb) RETURNS TABLE (id uuid) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    each record;
BEGIN
    FOR each IN SELECT * FROM jsonb_to_recordset(attempts) AS given (id uuid, fence bigint) LOOP
        RETURN QUERY
            SELECT job.id FROM hubqueue_job AS job WHERE hubqueue_holds(job, each.id, each.fence)
            FOR NO KEY UPDATE;
    END LOOP;
END
$$;

-- Progress of many attempts, given as {id, fence, share}. Rows that are locked, or no longer held, are passed over.
CREATE FUNCTION hubqueue_progress(attempts jsonb) RETURNS TABLE (id uuid) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    each record;
BEGIN
    FOR each IN SELECT * FROM jsonb_to_recordset(attempts) AS given (id uuid, fence bigint, share float8) LOOP
        PERFORM 1 FROM hubqueue_job AS job WHERE hubqueue_holds(job, each.id, each.fence)
        FOR NO KEY UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        RETURN QUERY
            UPDATE hubqueue_job AS job SET progress = each.share
            WHERE hubqueue_holds(job, each.id, each.fence)
            RETURNING job.id;
    END LOOP;
END
$$;
