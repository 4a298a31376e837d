-- The names by a loose walk over the unique index, then per name from its oldest record on.
WITH RECURSIVE name AS (
    (SELECT schedule FROM hubqueue_periodictick ORDER BY schedule LIMIT 1)
    UNION ALL
    SELECT (
        SELECT tick.schedule FROM hubqueue_periodictick AS tick
        WHERE tick.schedule > name.schedule ORDER BY tick.schedule LIMIT 1
    ) FROM name WHERE name.schedule IS NOT NULL
)
DELETE FROM hubqueue_periodictick WHERE id IN (
    SELECT old.id
    FROM name, LATERAL (
        SELECT tick.id FROM hubqueue_periodictick AS tick
        WHERE tick.schedule = name.schedule AND tick.at < %(before)s AND tick.at < (
            SELECT newest.at FROM hubqueue_periodictick AS newest
            WHERE newest.schedule = name.schedule ORDER BY newest.at DESC LIMIT 1
        )
        ORDER BY tick.at LIMIT %(batch)s
    ) AS old
    WHERE name.schedule IS NOT NULL
    LIMIT %(batch)s
)
