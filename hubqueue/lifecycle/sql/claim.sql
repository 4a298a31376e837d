-- The work is done by the function of migrations/sql/0002_claim.sql; see docs/claim.md for its parts.
SELECT claimed.queue, claimed.next_turns::text, claimed.next_floors::text, claimed.jobs::text
FROM hubqueue_claim(%s::uuid, %s::jsonb, %s::int, %s::jsonb, %s::jsonb, %s::int) AS claimed
