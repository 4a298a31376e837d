-- Enqueues one request or ten thousand: a JSON array of objects, in the order in which rows are to be locked. What a
-- request leaves out is ordinary. due is the queues that have something to do now, rung those of them whose bell was
-- among bells and rings at the commit. standing is what did not become a row of its own: [id asked for, id, state and
-- whether the payloads are equal] of each.
-- A rival's uncommitted row is waited for: if it rolls back we insert, if it commits we collapse, if it finished
-- meanwhile the key is free again and we insert. A function, because its plan outlives the call.
-- Transactions that ring commit one by one, each with its wait for the disk. So where the call is its transaction
-- (alone), it leaves the bell to another one that is ringing it at this moment: whoever hears that looks again soon.
CREATE FUNCTION hubqueue_enqueue(
    requests json, bells jsonb, alone boolean, OUT due text[], OUT rung text[], OUT standing jsonb
) LANGUAGE plpgsql AS $$
DECLARE
    moment CONSTANT timestamptz := hubqueue_now();
BEGIN
    WITH given AS MATERIALIZED (
        SELECT * FROM json_to_recordset(requests) AS request (
            id uuid, kind text, queue text, priority smallint, tenant text, payload jsonb, dedupe_key text,
            run_at timestamptz, max_attempts int, meta jsonb
        )
    ),
    put AS (
        INSERT INTO hubqueue_job AS job (
            id, kind, queue, priority, tenant_id, payload, dedupe_key, state, run_at, attempts, max_attempts, fence,
            suspect, meta, created_at
        )
        SELECT
            id, kind, queue, coalesce(priority, 0), tenant, payload, dedupe_key, 'READY', coalesce(run_at, moment), 0,
            max_attempts, 0, false, coalesce(meta, '{}'), moment
        FROM given
        ON CONFLICT (kind, dedupe_key)
            WHERE dedupe_key IS NOT NULL AND state IN ('PARKED', 'READY', 'RUNNING')
        DO UPDATE SET
            priority = least(job.priority, excluded.priority),
            run_at = CASE
                WHEN job.state = 'READY' AND job.attempts = 0 THEN least(job.run_at, excluded.run_at)
                ELSE job.run_at
            END,
            -- A wake-up that the waiting retry serves anyway takes no later one's place.
            rerun_at = CASE
                WHEN job.state = 'RUNNING' THEN least(job.rerun_at, excluded.run_at)
                WHEN job.state = 'READY' AND job.attempts > 0 AND excluded.run_at > job.run_at
                    THEN least(CASE WHEN job.rerun_at > job.run_at THEN job.rerun_at END, excluded.run_at)
                ELSE job.rerun_at
            END
        RETURNING
            id, kind, queue, dedupe_key, state, run_at, CASE WHEN dedupe_key IS NOT NULL THEN payload END AS payload
    )
    SELECT
        (SELECT array_agg(DISTINCT queue) FROM put WHERE state = 'READY' AND run_at <= moment),
        (
            SELECT jsonb_agg(jsonb_build_array(given.id, put.id, put.state, nullif(put.payload, given.payload)))
            FROM put JOIN given USING (kind, dedupe_key)
            WHERE put.id <> given.id
        )
    INTO due, standing;
    rung := ARRAY(
        SELECT queue FROM unnest(due) AS queue
        WHERE bells ? queue AND (NOT alone OR pg_try_advisory_xact_lock(hashtext('hubqueue:bell'), hashtext(queue)))
    );
    PERFORM pg_notify('hubqueue:' || queue, '') FROM unnest(rung) AS queue;
END
$$;
