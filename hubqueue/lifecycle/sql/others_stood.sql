-- Whether a session of the queue that began before that moment stands: then the server has stood since as well.
SELECT EXISTS (
    SELECT FROM pg_stat_activity AS session
    WHERE session.usename = current_user AND session.datname = current_database()
        AND starts_with(session.application_name, 'hubqueue-') AND session.backend_start < %(since)s
)
