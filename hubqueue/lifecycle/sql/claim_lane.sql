-- The work is done by the function of migrations/sql/0002_claim.sql; see docs/claim.md for its parts.
SELECT claimed.next_turns::text, claimed.next_floors::text, claimed.jobs::text
FROM hubqueue_claim_lane(%b::uuid, %b::text, %b::int, %b::text[], %b::jsonb, %b::jsonb) AS claimed
