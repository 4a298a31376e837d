-- Workers that hold jobs and look gone. Nobody is suspected before the server and our own session have been up for
-- one interval: after an outage the living renew first.
SELECT
    holder.claimed_by,
    worker.id IS NULL OR worker.lease_until < hubqueue_now() AS lease_passed,
    coalesce(worker.sessions_visible, false) AND NOT EXISTS (
        SELECT 1 FROM pg_stat_activity AS session WHERE session.application_name = 'hubqueue-' || holder.claimed_by
    ) AS no_session,
    coalesce(worker.solo, false) AS solo,
    worker.lease_until
FROM (SELECT DISTINCT claimed_by FROM hubqueue_job WHERE state = 'RUNNING') AS holder
LEFT JOIN hubqueue_worker AS worker ON worker.id = holder.claimed_by
WHERE clock_timestamp() - pg_postmaster_start_time() > %(calm)s::interval
    AND (SELECT clock_timestamp() - backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()) > %(calm)s::interval
    AND (
        worker.id IS NULL OR worker.lease_until < hubqueue_now() OR (
            worker.sessions_visible AND NOT EXISTS (
                SELECT 1 FROM pg_stat_activity AS session
                WHERE session.application_name = 'hubqueue-' || holder.claimed_by
            )
        )
    )
