"""Claims against each other and against officers: disjoint, and a second look under the lock."""

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection

from hubqueue import officers
from hubqueue.models import Job
from tests.support.rival import Rival
from tests.support.rows import claim_all, make_job, now

MINUTE = timedelta(minutes=1)


@pytest.mark.django_db(transaction=True)
def test_two_claims_at_once_get_different_jobs() -> None:
    for tenant in "ab":
        for _ in range(20):
            make_job(tenant_id=tenant)
    with Rival() as one, Rival() as two:
        one.begin()
        first = one.do(lambda: claim_all(15))
        two.begin()
        second = two.do(lambda: claim_all(15))
        third = claim_all(15)
        one.commit()
        two.commit()
    ids = [each.id for each in (*first, *second, *third)]
    assert len(ids) == len(set(ids)) == 40


@pytest.fixture
def stop() -> Iterator[UUID]:
    """A row at which a claim of the role ``stopper`` stops, after it was found and before it is locked.

    A row security policy is asked between the two; for this row it waits for an advisory lock.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            CREATE FUNCTION stop_at(id uuid) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
                IF id = '00000000-0000-7000-8000-000000000000' THEN
                    PERFORM pg_advisory_xact_lock_shared(4711);
                END IF;
                RETURN true;
            END $$;
            DROP ROLE IF EXISTS stopper;
            CREATE ROLE stopper;
            GRANT SELECT, UPDATE ON hubqueue_job, hubqueue_pause TO stopper;
            ALTER TABLE hubqueue_job ENABLE ROW LEVEL SECURITY;
            CREATE POLICY stop ON hubqueue_job TO stopper USING (stop_at(id));
            SELECT pg_advisory_lock(4711);
            """
        )
    yield UUID("00000000-0000-7000-8000-000000000000")
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT pg_advisory_unlock_all();
            DROP POLICY stop ON hubqueue_job;
            ALTER TABLE hubqueue_job DISABLE ROW LEVEL SECURITY;
            DROP FUNCTION stop_at;
            REVOKE ALL ON hubqueue_job, hubqueue_pause FROM stopper;
            DROP ROLE stopper;
            """
        )


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("tenant", ["t", None])
@pytest.mark.parametrize("change", ["parked", "cancelled", "later", "claimed"])
def test_a_row_that_changes_between_being_found_and_being_locked_is_left_alone(
    change: str, tenant: str | None, stop: UUID
) -> None:
    others = {make_job(tenant_id=tenant, run_at=now() - 2 * MINUTE).id for _ in range(2)}
    make_job(tenant_id=tenant, id=stop)
    taken: set[UUID] = {stop}

    def alter() -> None:
        if change == "parked":
            officers.park(stop, actor="pat", reason="test")
        elif change == "cancelled":
            officers.cancel(stop, actor="pat", reason="test")
        elif change == "later":
            Job.objects.filter(pk=stop).update(run_at=now() + MINUTE)
        else:
            taken.update(each.id for each in claim_all(3))

    with Rival() as claimer, Rival() as officer:
        claimer.do(lambda: connection.cursor().execute("SET ROLE stopper"))
        found = claimer.start(lambda: claim_all(3))
        claimer.until_blocked()
        officer.do(alter)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(4711)")
        assert {each.id for each in found.result(30)} == others - taken
    assert Job.objects.get(pk=stop).attempts == (1 if change == "claimed" else 0)
