-- Ours alone, by role and by name: a number may serve somebody else by now.
SELECT pg_terminate_backend(session.pid)
FROM pg_stat_activity AS session
WHERE session.pid = ANY(%(pids)s) AND session.pid <> pg_backend_pid()
    AND session.usename = current_user AND session.datname = current_database()
    AND session.application_name = current_setting('application_name')
