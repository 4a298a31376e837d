-- As an earlier 0001_jobs made them.
DROP FUNCTION IF EXISTS hubqueue_claim;
DROP FUNCTION IF EXISTS hubqueue_claim_lane;
DROP FUNCTION IF EXISTS hubqueue_next_level;
DROP FUNCTION IF EXISTS hubqueue_turns;

-- Claims up to total due jobs of kinds for worker, lane by lane. A lane is {queue, room, turns, floors}: how many it may
-- give, and what hubqueue_claim_lane takes.
-- A kind of groups ({names, size, batches}: its names, how many jobs share a commit, for how many commits at most) that
-- was met brings more of its kind, until its commits are full or all jobs are most.
-- The answer has the rows of hubqueue_claim_lane for each lane that gave something, and for each kind that brought more.
-- What the caller is to pass next time is in the last row of a lane.
CREATE FUNCTION hubqueue_claim(
    worker uuid, lanes jsonb, total int, kinds text[], groups jsonb DEFAULT '[]', most int DEFAULT NULL
)
RETURNS TABLE (queue text, next_turns jsonb, next_floors jsonb, jobs json) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    lane record;
    room int;
    given record;
    taken int := 0;
    met text[];
    grouped record;
    along int := 0;
BEGIN
    FOR lane IN
        SELECT listed.* FROM ROWS FROM (
            jsonb_to_recordset(lanes) AS (queue text, room int, turns jsonb, floors jsonb)
        ) WITH ORDINALITY AS listed (queue, room, turns, floors, place) ORDER BY listed.place
    LOOP
        room := least(lane.room, total - taken);
        CONTINUE WHEN room <= 0;
        queue := lane.queue;
        met := '{}';
        FOR given IN
            SELECT * FROM hubqueue_claim_lane(worker, lane.queue, room, kinds, lane.turns, lane.floors)
        LOOP
            next_turns := given.next_turns;
            next_floors := given.next_floors;
            jobs := given.jobs;
            RETURN NEXT;
            met := met || given.met;
        END LOOP;
        taken := taken + cardinality(met);

        -- Where room is left, all that is due has been claimed.
        CONTINUE WHEN cardinality(met) < room;

        -- The floors that those answer are of one kind, and would hide older jobs of the others.
        FOR grouped IN
            SELECT known.names, (least(count(*), known.batches) * known.size - count(*))::int AS missing
            FROM jsonb_to_recordset(groups) AS known (names text[], size int, batches int), unnest(met) AS kind
            WHERE kind = ANY (known.names)
            GROUP BY known.names, known.size, known.batches
        LOOP
            room := least(grouped.missing, most - taken - along);
            CONTINUE WHEN room <= 0;
            FOR given IN
                SELECT * FROM hubqueue_claim_lane(
                    worker, lane.queue, room, grouped.names, next_turns, lane.floors || next_floors
                )
            LOOP
                next_turns := given.next_turns;
                jobs := given.jobs;
                RETURN NEXT;
                along := along + cardinality(given.met);
            END LOOP;
        END LOOP;
        EXIT WHEN taken >= total;
    END LOOP;
END
$$;

-- Claims up to room due jobs of kinds of one lane for worker: priority by priority (strict), turns over tenants, then
-- age. turns is {priority: the tenant that was served last} there ('' = the installation's own work), floors
-- {priority: [moment, id]}, both as the last answer said. Rows before a floor are not looked at, so that the dead entries
-- of what was claimed already are not walked again; without floors everything is looked at. The id is part of it because
-- all jobs of one call are due at one moment.
-- The answer has a row per priority that gave something: the jobs in order, each as hubqueue_claimed has it, their kinds,
-- and what the caller is to pass next time, of which the last row has all. Every query below is bounded by the room
-- left. The plans must not depend on how fresh the table's statistics are, hence the SETs.
CREATE FUNCTION hubqueue_claim_lane(
    worker uuid, lane text, room int, kinds text[], turns jsonb, floors jsonb
)
RETURNS TABLE (next_turns jsonb, next_floors jsonb, jobs json, met text[]) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
SET enable_hashjoin = off SET enable_mergejoin = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    moment CONSTANT timestamptz := hubqueue_now();
    shut_queues text[];
    shut_tenants text[];
    shut_kinds text[];
    level int := -32769;
    floor_at timestamptz;
    floor_id uuid;
    waiting bigint;
    ring text[];
    stop text;
    picked uuid[];
BEGIN
    -- A claim that a crash loses is found READY again, and the fence is new all the same.
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT
        coalesce(array_agg(value) FILTER (WHERE scope = 'queue'), '{}'),
        coalesce(array_agg(value) FILTER (WHERE scope = 'tenant'), '{}'),
        coalesce(array_agg(value) FILTER (WHERE scope = 'kind'), '{}')
    INTO shut_queues, shut_tenants, shut_kinds
    FROM hubqueue_pause WHERE until IS NULL OR until > moment;
    IF lane = ANY (shut_queues) THEN RETURN; END IF;
    IF shut_kinds <> '{}' THEN
        kinds := ARRAY(SELECT kind FROM unnest(kinds) AS kind WHERE kind <> ALL (shut_kinds));
    END IF;
    -- Else every look would walk all that is due, and no floor would come of it.
    IF kinds = '{}' THEN RETURN; END IF;

    next_turns := turns;
    next_floors := '{}';
    LOOP
        -- The next priority in use: one that is known, or a new one in the gap before it. Going from one known priority
        -- to the next keeps the scan out of the dead entries in between.
        SELECT coalesce((
            SELECT j.priority FROM hubqueue_job AS j
            WHERE j.state = 'READY' AND NOT j.suspect AND j.queue = lane AND j.priority > level
                AND j.priority < coalesce(next.known, 32768)
            ORDER BY j.priority LIMIT 1
        ), next.known)
        INTO level FROM (
            SELECT min(each::int) AS known FROM jsonb_object_keys(floors) AS each WHERE each::int > level
        ) AS next;
        EXIT WHEN level IS NULL;

        -- One look at the level's oldest: where nothing is due no walk begins, and it is the next floor.
        floor_at := coalesce((floors -> level::text ->> 0)::timestamptz, '-infinity');
        floor_id := coalesce((floors -> level::text ->> 1)::uuid, '00000000-0000-0000-0000-000000000000');
        SELECT (array_agg(first.run_at))[1], (array_agg(first.id))[1], count(*)
        INTO floor_at, floor_id, waiting FROM (
            SELECT j.run_at, j.id FROM hubqueue_job AS j
            WHERE j.state = 'READY' AND NOT j.suspect AND j.queue = lane AND j.priority = level
                AND (j.run_at, j.id) >= (floor_at, floor_id) AND j.run_at <= moment AND j.kind = ANY (kinds)
                AND (j.tenant_id IS NULL OR j.tenant_id <> ALL (shut_tenants))
            ORDER BY j.run_at, j.id LIMIT room + 1
        ) AS first;
        CONTINUE WHEN waiting = 0;
        next_floors := next_floors || jsonb_build_object(level, jsonb_build_array(floor_at, floor_id));

        -- Where all that is due fits into the room, nobody has to wait for a turn. Every level goes on from where it
        -- stopped itself, else one busy urgent tenant would send the others of the next level back to the same start
        -- for ever.
        ring := '{}';
        picked := '{}';
        IF waiting > room THEN
            SELECT walk.ring, walk.stop INTO ring, stop FROM hubqueue_turns(
                lane, level, coalesce(next_turns ->> level::text, ''), room, floor_at, floor_id, moment, shut_tenants
            ) AS walk;
        END IF;
        IF ring <> '{}' THEN
            next_turns := next_turns || jsonb_build_object(level, stop);
            SELECT coalesce(array_agg(due.id), '{}') INTO picked
            FROM unnest(ring) AS tenant, LATERAL (
                SELECT j.id FROM hubqueue_job AS j
                WHERE j.state = 'READY' AND NOT j.suspect AND j.queue = lane AND j.priority = level
                    AND coalesce(j.tenant_id, '') = tenant
                    AND (j.run_at, j.id) >= (floor_at, floor_id) AND j.run_at <= moment
                    AND j.kind = ANY (kinds)
                ORDER BY j.run_at, j.id
                LIMIT greatest(1, room / cardinality(ring))
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS due;
        END IF;

        -- What the turns left of the room goes by age.
        WITH moved AS (
            UPDATE hubqueue_job AS j
            SET state = 'RUNNING',
                attempts = j.attempts + 1,
                fence = greatest(j.fence + 1, hubqueue_fence()),
                claimed_by = worker,
                claimed_at = moment,
                progress = NULL,
                rerun_at = CASE WHEN j.rerun_at > moment THEN j.rerun_at END
            FROM unnest(picked || ARRAY(
                SELECT j.id FROM hubqueue_job AS j
                WHERE j.state = 'READY' AND NOT j.suspect AND j.queue = lane AND j.priority = level
                    AND (j.run_at, j.id) >= (floor_at, floor_id) AND j.run_at <= moment AND j.kind = ANY (kinds)
                    AND (j.tenant_id IS NULL OR j.tenant_id <> ALL (shut_tenants)) AND j.id <> ALL (picked)
                ORDER BY j.run_at, j.id
                LIMIT room - cardinality(picked)
                FOR NO KEY UPDATE SKIP LOCKED
            )) WITH ORDINALITY AS one (id, place)
            -- The planner is to expect one row here, and so to look up each id; it keeps its plan when the table grows.
            WHERE j.id = one.id AND one.place % 1 = 0
            RETURNING hubqueue_claimed(j) AS job, j.kind, one.place
        )
        SELECT json_agg(moved.job ORDER BY moved.place), coalesce(array_agg(moved.kind), '{}')
        INTO jobs, met FROM moved;
        CONTINUE WHEN met = '{}';
        RETURN NEXT;
        room := room - cardinality(met);
        EXIT WHEN room <= 0;
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
