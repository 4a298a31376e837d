-- The work is done by the function of migrations/sql/0002_claim.sql; see docs/claim.md for its parts.
SELECT claimed.queue, claimed.next_turns::text, claimed.next_floors::text, claimed.jobs::text
FROM hubqueue_claim(%b::uuid, %b::jsonb, %b::int, %b::text[], %b::jsonb, nullif(%b, '')::int) AS claimed
