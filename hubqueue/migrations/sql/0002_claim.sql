-- As an earlier 0001_jobs made them.
DROP FUNCTION IF EXISTS hubqueue_claim;
DROP FUNCTION IF EXISTS hubqueue_next_level;
DROP FUNCTION IF EXISTS hubqueue_turns;

-- Claims up to total due jobs of kinds for worker: lane by lane, priority by priority (strict), turns over tenants, then
-- age. A lane is {queue, room, turns, floors}: how many it may give; {priority: the tenant that was served last} there
-- ('' = the installation's own work); and {priority: [moment, id]} as the last answer said. Rows before a floor are not
-- looked at, so that the dead entries of what was claimed already are not walked again; without floors everything is
-- looked at. The id is part of it because all jobs of one call are due at one moment.
-- A kind of groups ({names, size, batches}: its names, how many jobs share a commit, for how many commits at most) that
-- was met brings more of its kind, until its commits are full or all jobs are most.
-- The answer has a row per lane that gave something, and one for each kind that brought more: the jobs in order, each as
-- hubqueue_claimed has it, and what the caller is to pass next time, of which the last row of a lane holds. Every query below is bounded by the room left. The plans must not depend on how fresh
-- the table's statistics are, hence the SETs.
CREATE FUNCTION hubqueue_claim(
    worker uuid, lanes jsonb, total int, kinds jsonb, groups jsonb DEFAULT '[]', most int DEFAULT NULL
)
RETURNS TABLE (queue text, next_turns jsonb, next_floors jsonb, jobs json) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    moment CONSTANT timestamptz := hubqueue_now();
    shut_queues text[];
    shut_tenants text[];
    open_kinds text[];
    lane record;
    room int;
    level int;
    floor_at timestamptz;
    floor_id uuid;
    waiting bigint;
    seen jsonb;
    ring text[];
    stop text;
    turns jsonb;
    picked uuid[];
    more uuid[];
    taken int := 0;
    met text[];
    grouped record;
    brought record;
    along int := 0;
BEGIN
    -- A claim that a crash loses is found READY again, and the fence is new all the same.
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT
        coalesce(array_agg(value) FILTER (WHERE scope = 'queue'), '{}'),
        coalesce(array_agg(value) FILTER (WHERE scope = 'tenant'), '{}'),
        (SELECT array_agg(kind) FROM jsonb_array_elements_text(kinds) AS kind WHERE kind NOT IN (
            SELECT value FROM hubqueue_pause WHERE scope = 'kind' AND (until IS NULL OR until > moment)))
    INTO shut_queues, shut_tenants, open_kinds
    FROM hubqueue_pause WHERE until IS NULL OR until > moment;
    IF open_kinds IS NULL THEN RETURN; END IF;

    FOR lane IN
        SELECT given.*, ARRAY(SELECT jsonb_object_keys(given.floors)::int) AS known FROM ROWS FROM (
            jsonb_to_recordset(lanes) AS (queue text, room int, turns jsonb, floors jsonb)
        ) WITH ORDINALITY AS given (queue, room, turns, floors, place) ORDER BY given.place
    LOOP
        room := least(lane.room, total - taken);
        CONTINUE WHEN room <= 0 OR lane.queue = ANY (shut_queues);
        picked := '{}';
        seen := '{}';
        turns := lane.turns;
        level := -32769;
        LOOP
            -- The next priority in use: one that is known, or a new one in the gap before it. Going from one known
            -- priority to the next keeps the scan out of the dead entries in between.
            SELECT coalesce((
                SELECT j.priority FROM hubqueue_job AS j
                WHERE j.state = 'READY' AND NOT j.suspect AND j.queue = lane.queue AND j.priority > level
                    AND j.priority < coalesce(next.known, 32768)
                ORDER BY j.priority LIMIT 1
            ), next.known)
            INTO level FROM (SELECT min(each) AS known FROM unnest(lane.known) AS each WHERE each > level) AS next;
            EXIT WHEN level IS NULL;

            -- One look at the level's oldest: where nothing is due no walk begins, and it is the next floor.
            floor_at := coalesce((lane.floors -> level::text ->> 0)::timestamptz, '-infinity');
            floor_id := coalesce((lane.floors -> level::text ->> 1)::uuid, '00000000-0000-0000-0000-000000000000');
            SELECT (array_agg(first.run_at))[1], (array_agg(first.id))[1], count(*)
            INTO floor_at, floor_id, waiting FROM (
                SELECT j.run_at, j.id FROM hubqueue_job AS j
                WHERE j.state = 'READY' AND NOT j.suspect AND j.queue = lane.queue AND j.priority = level
                    AND (j.run_at, j.id) >= (floor_at, floor_id) AND j.run_at <= moment AND j.kind = ANY (open_kinds)
                    AND (j.tenant_id IS NULL OR j.tenant_id <> ALL (shut_tenants))
                ORDER BY j.run_at, j.id LIMIT room + 1
            ) AS first;
            CONTINUE WHEN waiting = 0;
            seen := seen || jsonb_build_object(level, jsonb_build_array(floor_at, floor_id));

            -- Where all that is due fits into the room, nobody has to wait for a turn. Every level goes on from where it
            -- stopped itself, else one busy urgent tenant would send the others of the next level back to the same
            -- start for ever.
            ring := '{}';
            IF waiting > room THEN
                SELECT walk.ring, walk.stop INTO ring, stop FROM hubqueue_turns(
                    lane.queue, level, coalesce(turns ->> level::text, ''), room, floor_at, floor_id, moment,
                    shut_tenants
                ) AS walk;
            END IF;
            IF cardinality(ring) > 0 THEN
                turns := turns || jsonb_build_object(level, stop);
                SELECT coalesce(array_agg(due.id), '{}') INTO more
                FROM unnest(ring) AS tenant, LATERAL (
                    SELECT j.id FROM hubqueue_job AS j
                    WHERE j.state = 'READY' AND NOT j.suspect AND j.queue = lane.queue AND j.priority = level
                        AND coalesce(j.tenant_id, '') = tenant
                        AND (j.run_at, j.id) >= (floor_at, floor_id) AND j.run_at <= moment
                        AND j.kind = ANY (open_kinds)
                    ORDER BY j.run_at, j.id
                    LIMIT greatest(1, room / cardinality(ring))
                    FOR NO KEY UPDATE SKIP LOCKED
                ) AS due;
                picked := picked || more;
                room := room - cardinality(more);
            END IF;

            IF room > 0 THEN
                SELECT coalesce(array_agg(due.id), '{}') INTO more FROM (
                    SELECT j.id FROM hubqueue_job AS j
                    WHERE j.state = 'READY' AND NOT j.suspect AND j.queue = lane.queue AND j.priority = level
                        AND (j.run_at, j.id) >= (floor_at, floor_id) AND j.run_at <= moment
                        AND j.kind = ANY (open_kinds)
                        AND (j.tenant_id IS NULL OR j.tenant_id <> ALL (shut_tenants))
                        AND j.id <> ALL (picked)
                    ORDER BY j.run_at, j.id
                    LIMIT room
                    FOR NO KEY UPDATE SKIP LOCKED
                ) AS due;
                picked := picked || more;
                room := room - cardinality(more);
            END IF;
            EXIT WHEN room <= 0;
        END LOOP;
        CONTINUE WHEN cardinality(picked) = 0;

        WITH moved AS (
            UPDATE hubqueue_job AS j
            SET state = 'RUNNING',
                attempts = j.attempts + 1,
                fence = greatest(j.fence + 1, hubqueue_fence()),
                claimed_by = worker,
                claimed_at = moment,
                progress = NULL,
                rerun_at = CASE WHEN j.rerun_at > moment THEN j.rerun_at END
            -- The planner is to expect one row here, and so to look up each id; it keeps its plan when the table grows.
            FROM unnest(picked) WITH ORDINALITY AS one (id, place)
            WHERE j.id = one.id AND one.place % 1 = 0
            RETURNING hubqueue_claimed(j) AS job, j.kind, one.place
        )
        SELECT json_agg(moved.job ORDER BY moved.place), array_agg(moved.kind)
        INTO jobs, met FROM moved;
        queue := lane.queue;
        next_turns := turns;
        next_floors := seen;
        RETURN NEXT;
        taken := taken + cardinality(picked);

        -- Where room is left, all that is due has been claimed.
        CONTINUE WHEN room > 0;

        -- The floors that those answer are of one kind, and would hide older jobs of the others.
        FOR grouped IN
            SELECT given.names, least(
                least(count(*), given.batches) * given.size - count(*), most - taken - along
            )::int AS missing
            FROM jsonb_to_recordset(groups) AS given (names jsonb, size int, batches int), unnest(met) AS kind
            WHERE given.names ? kind
            GROUP BY given.names, given.size, given.batches
        LOOP
            CONTINUE WHEN grouped.missing <= 0;
            FOR brought IN
                SELECT claimed.* FROM hubqueue_claim(
                    worker,
                    jsonb_build_array(jsonb_build_object(
                        'queue', lane.queue, 'room', grouped.missing, 'turns', next_turns, 'floors', lane.floors || seen
                    )),
                    grouped.missing,
                    grouped.names
                ) AS claimed
            LOOP
                jobs := brought.jobs;
                next_turns := brought.next_turns;
                RETURN NEXT;
                along := along + json_array_length(jobs);
            END LOOP;
        END LOOP;
        EXIT WHEN taken >= total;
    END LOOP;
END
$$;

-- The next tenants with due rows of one priority, in a ring that goes on after the one served last, and where the
-- walk stopped. A loose index scan: one descent per tenant. The first row it meets of a tenant is that tenant's
-- oldest, so one look tells whether anything is due. Tenants without due work, and paused ones, take no place in the
-- ring, but the walk ends after so many of them: the rest of the ring is for the next claim.
CREATE FUNCTION hubqueue_turns(
    lane text, level int, served text, most int, floor_at timestamptz, floor_id uuid, moment timestamptz,
    shut text[],
    OUT ring text[], OUT stop text
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    tenant text;
    oldest timestamptz;
    wrapped boolean := false;
BEGIN
    ring := '{}';
    stop := served;
    FOR step IN 1 .. 4 * most + 64 LOOP
        IF stop IS NULL THEN
            tenant := '';
            SELECT j.run_at INTO oldest FROM hubqueue_job AS j
            WHERE j.state = 'READY' AND NOT j.suspect AND j.queue = lane AND j.priority = level
                AND coalesce(j.tenant_id, '') = '' AND (j.run_at, j.id) >= (floor_at, floor_id)
            ORDER BY j.run_at, j.id LIMIT 1;
        ELSE
            SELECT coalesce(j.tenant_id, ''), j.run_at INTO tenant, oldest FROM hubqueue_job AS j
            WHERE j.state = 'READY' AND NOT j.suspect AND j.queue = lane AND j.priority = level
                AND coalesce(j.tenant_id, '') > stop AND (j.run_at, j.id) >= (floor_at, floor_id)
            ORDER BY coalesce(j.tenant_id, ''), j.run_at, j.id LIMIT 1;
            IF NOT FOUND THEN
                EXIT WHEN wrapped;
                wrapped := true;
                stop := NULL;
                CONTINUE;
            END IF;
        END IF;
        EXIT WHEN wrapped AND tenant > served;
        stop := tenant;
        IF oldest <= moment AND tenant <> ALL (shut) THEN
            ring := ring || tenant;
        END IF;
        EXIT WHEN cardinality(ring) >= most OR wrapped AND tenant = served;
    END LOOP;
    stop := coalesce(stop, served);
END
$$;
