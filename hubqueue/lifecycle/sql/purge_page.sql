-- The next rows in order of birth, and whether each may go. Bounded by what it examines, not by what it finds.
SELECT
    id,
    (state IN ('SUCCEEDED', 'CANCELLED') AND finished_at < %(finished_before)s)
    OR (state = 'DEAD' AND finished_at < %(dead_before)s)
FROM hubqueue_job
WHERE id > %(after)s AND id < %(ceiling)s
ORDER BY id
LIMIT %(batch)s
