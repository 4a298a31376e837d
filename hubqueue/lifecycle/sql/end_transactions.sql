-- What a worker whose lease has passed has open would keep its locks for as long as nobody notices that it is frozen.
SELECT pg_terminate_backend(session.pid)
FROM hubqueue_worker AS worker
JOIN pg_stat_activity AS session ON session.application_name = 'hubqueue-' || worker.id
WHERE worker.id = %(worker)s AND worker.sessions_visible AND worker.lease_until < hubqueue_now()
    AND session.xact_start IS NOT NULL AND session.usename = current_user AND session.pid <> pg_backend_pid()
