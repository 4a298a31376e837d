DELETE FROM hubqueue_failure WHERE id IN (
    SELECT id FROM hubqueue_failure WHERE failed_at < %(before)s
    ORDER BY failed_at LIMIT %(batch)s FOR UPDATE SKIP LOCKED
)
