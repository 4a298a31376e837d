-- Every way out of RUNNING, by one guarded statement. What the row says (a wake-up, an officer's stop request)
-- is read under its lock. The patience for that lock is set by the statement itself, before it locks.
WITH patience AS MATERIALIZED (
    SELECT set_config('lock_timeout', %(patience)s, true) AS told
),
verdict AS MATERIALIZED (
    SELECT verdict.*, hubqueue_now() AS moment, coalesce(verdict.at, hubqueue_now() + verdict.wait) AS next_at
    FROM unnest(
        %(ids)s::uuid[], %(moves)s::text[], %(waits)s::interval[], %(ats)s::timestamptz[], %(spends)s::bool[],
        %(codes)s::text[], %(reasons)s::text[], %(results)s::text[], %(suspects)s::bool[]
    ) AS verdict (id, move, wait, at, spend, code, reason, result, suspect), patience
    WHERE patience.told IS NOT NULL
),
ending AS MATERIALIZED (SELECT * FROM {held})
UPDATE hubqueue_job AS job
SET state = CASE
        WHEN verdict.move = 'succeed' AND job.rerun_at IS NULL THEN 'SUCCEEDED'
        WHEN verdict.move = 'succeed' AND job.stop_requested = 'park' THEN 'PARKED'
        WHEN verdict.move = 'succeed' THEN 'READY'
        WHEN job.stop_requested = 'cancel' THEN 'CANCELLED'
        WHEN job.stop_requested = 'park' OR verdict.move = 'set aside' THEN 'PARKED'
        WHEN verdict.move = 'give up' THEN 'DEAD'
        ELSE 'READY'
    END,
    run_at = CASE
        WHEN verdict.move = 'succeed' THEN coalesce(job.rerun_at, job.run_at)
        WHEN verdict.move = 'repeat' THEN least(verdict.next_at, job.rerun_at)
        ELSE coalesce(verdict.next_at, job.run_at)
    END,
    rerun_at = CASE
        WHEN verdict.move = 'succeed' THEN NULL
        WHEN verdict.move = 'repeat' AND job.stop_requested IS NULL AND job.rerun_at <= verdict.next_at THEN NULL
        ELSE job.rerun_at
    END,
    attempts = CASE
        WHEN verdict.move = 'repeat' OR (verdict.move = 'succeed' AND job.rerun_at IS NOT NULL) THEN 0
        WHEN verdict.spend THEN job.attempts
        ELSE greatest(job.attempts - 1, 0)
    END,
    failing_since = CASE
        WHEN verdict.move IN ('succeed', 'repeat') THEN NULL
        WHEN verdict.spend AND verdict.code IS NOT NULL THEN coalesce(job.failing_since, verdict.moment)
        ELSE job.failing_since
    END,
    error_code = CASE
        WHEN verdict.move IN ('succeed', 'repeat') THEN NULL
        ELSE coalesce(verdict.code, job.error_code)
    END,
    suspect = coalesce(verdict.suspect, job.suspect),
    claimed_by = NULL,
    stop_requested = NULL,
    progress = CASE WHEN verdict.move = 'succeed' AND job.rerun_at IS NULL THEN job.progress END,
    park_reason = CASE
        WHEN job.stop_requested = 'park' THEN job.park_reason
        WHEN verdict.move = 'set aside' AND job.stop_requested IS NULL THEN verdict.reason
    END,
    result = CASE WHEN verdict.move = 'succeed' THEN verdict.result::jsonb ELSE job.result END,
    finished_at = CASE
        WHEN verdict.move = 'succeed' AND job.rerun_at IS NULL THEN verdict.moment
        WHEN verdict.move <> 'succeed' AND (
            job.stop_requested = 'cancel' OR (job.stop_requested IS NULL AND verdict.move = 'give up')
        ) THEN verdict.moment
    END
FROM ending AS held, verdict
WHERE {guard} AND verdict.id = held.id
RETURNING job.id, job.state, job.attempts, job.run_at, job.rerun_at, verdict.moment
