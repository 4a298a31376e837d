-- As an earlier 0001_jobs made it.
DROP FUNCTION IF EXISTS hubqueue_settle_last;
DROP FUNCTION IF EXISTS hubqueue_settle;

-- Every way out of RUNNING, for attempts given as the Ended of lifecycle/settle.py. What the row says (a wake-up, an
-- officer's stop request) is read under its lock, which is waited for no longer than patience. An attempt that no longer
-- holds its job gives no row; where strict, it is an error, on which a caller relies that sends COMMIT along. Where all
-- simply succeeded they end in one UPDATE by their ids, whatever the statistics say: the move is concatenated so that
-- the planner expects one attempt. Of a hundred he would look for each row of a small table, and a session keeps its
-- plan when the table is large.
CREATE FUNCTION hubqueue_settle(ended jsonb, patience text, strict boolean) RETURNS TABLE (
    id uuid, state text, attempts int, run_at timestamptz, successor boolean, settled_at timestamptz
) LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    present CONSTANT timestamptz := hubqueue_now();
    simple CONSTANT boolean := NOT jsonb_path_exists(ended, '$[*] ? (@.move != "succeed")');
    next_at timestamptz;
    each record;
    settled int := 0;
    moved int;
BEGIN
    PERFORM set_config('lock_timeout', patience, true);
    IF simple THEN
        -- Row by row in the order given, those with a wake-up among them: so a settle meets no enqueue crosswise.
        RETURN QUERY
            UPDATE hubqueue_job AS job
            SET state = CASE
                    WHEN job.rerun_at IS NULL THEN 'SUCCEEDED'
                    WHEN job.stop_requested = 'park' THEN 'PARKED'
                    ELSE 'READY'
                END,
                run_at = coalesce(job.rerun_at, job.run_at),
                rerun_at = NULL,
                attempts = CASE WHEN job.rerun_at IS NULL THEN job.attempts ELSE 0 END,
                failing_since = NULL,
                error_code = NULL,
                suspect = false,
                claimed_by = NULL,
                stop_requested = NULL,
                progress = CASE WHEN job.rerun_at IS NULL THEN job.progress END,
                park_reason = CASE WHEN job.stop_requested = 'park' THEN job.park_reason END,
                result = given.result,
                finished_at = CASE WHEN job.rerun_at IS NULL THEN present END
            FROM jsonb_to_recordset(ended) AS given (id uuid, fence bigint, move text, result jsonb)
            WHERE given.move || '' = 'succeed' AND hubqueue_holds(job, given.id, given.fence)
            RETURNING job.id, job.state::text, job.attempts, job.run_at, false, present;
        GET DIAGNOSTICS settled = ROW_COUNT;
    ELSE
        FOR each IN
            SELECT * FROM jsonb_to_recordset(ended) AS given (
                id uuid, fence bigint, move text, wait float8, at timestamptz, spend boolean, code text, reason text,
                result jsonb, suspect boolean
            )
        LOOP
            next_at := coalesce(each.at, present + make_interval(secs => each.wait));
            RETURN QUERY
            UPDATE hubqueue_job AS job
            SET state = CASE
                    WHEN each.move = 'succeed' AND job.rerun_at IS NULL THEN 'SUCCEEDED'
                    WHEN each.move = 'succeed' AND job.stop_requested = 'park' THEN 'PARKED'
                    WHEN each.move = 'succeed' THEN 'READY'
                    WHEN job.stop_requested = 'cancel' THEN 'CANCELLED'
                    WHEN job.stop_requested = 'park' OR each.move = 'set aside' THEN 'PARKED'
                    WHEN each.move = 'give up' THEN 'DEAD'
                    ELSE 'READY'
                END,
                run_at = CASE
                    WHEN each.move = 'succeed' THEN coalesce(job.rerun_at, job.run_at)
                    WHEN each.move = 'repeat' THEN least(next_at, job.rerun_at)
                    ELSE coalesce(next_at, job.run_at)
                END,
                rerun_at = CASE
                    WHEN each.move = 'succeed' THEN NULL
                    WHEN each.move = 'repeat' AND job.stop_requested IS NULL AND job.rerun_at <= next_at THEN NULL
                    ELSE job.rerun_at
                END,
                attempts = CASE
                    WHEN each.move = 'repeat' OR (each.move = 'succeed' AND job.rerun_at IS NOT NULL) THEN 0
                    WHEN each.spend THEN job.attempts
                    ELSE greatest(job.attempts - 1, 0)
                END,
                failing_since = CASE
                    WHEN each.move IN ('succeed', 'repeat') THEN NULL
                    WHEN each.spend AND each.code IS NOT NULL THEN coalesce(job.failing_since, present)
                    ELSE job.failing_since
                END,
                error_code = CASE WHEN each.move NOT IN ('succeed', 'repeat') THEN coalesce(each.code, job.error_code) END,
                suspect = coalesce(each.suspect, job.suspect),
                claimed_by = NULL,
                stop_requested = NULL,
                progress = CASE WHEN each.move = 'succeed' AND job.rerun_at IS NULL THEN job.progress END,
                park_reason = CASE
                    WHEN job.stop_requested = 'park' THEN job.park_reason
                    WHEN each.move = 'set aside' AND job.stop_requested IS NULL THEN each.reason
                END,
                result = CASE WHEN each.move = 'succeed' THEN each.result ELSE job.result END,
                finished_at = CASE
                    WHEN each.move = 'succeed' THEN CASE WHEN job.rerun_at IS NULL THEN present END
                    WHEN job.stop_requested = 'cancel' OR (job.stop_requested IS NULL AND each.move = 'give up') THEN present
                END
            WHERE hubqueue_holds(job, each.id, each.fence)
            RETURNING job.id, job.state::text, job.attempts, job.run_at, job.rerun_at IS NOT NULL, present;
            GET DIAGNOSTICS moved = ROW_COUNT;
            settled := settled + moved;
        END LOOP;
    END IF;
    IF strict AND settled < jsonb_array_length(ended) THEN
        RAISE EXCEPTION 'an attempt no longer holds its job' USING ERRCODE = 'HQ001';
    END IF;
END
$$;

-- The same, strictly, for whoever sends COMMIT along: the moment, and a row for each that did not simply succeed. The
-- caller's statement is nothing but this call, since its text is parsed and planned for every job.
CREATE FUNCTION hubqueue_settle_last(ended jsonb, patience text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT json_build_array(hubqueue_now(), coalesce(
            json_agg(json_build_array(s.id, s.state, s.attempts, s.run_at, s.successor, s.settled_at))
                FILTER (WHERE s.state <> 'SUCCEEDED'),
            '[]'
        ))
        FROM hubqueue_settle(ended, patience, true) AS s
    );
END
$$;
