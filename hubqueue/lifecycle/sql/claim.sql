-- The work is done by the function of the first migration; see docs/claim.md for its parts.
SELECT claimed.lane, claimed.next_turn, claimed.next_floors::text, claimed.jobs::text
FROM hubqueue_claim(%s::uuid, %s::text[], %s::int[], %s::int, %s::text[], %s::text[], %s::jsonb) AS claimed
