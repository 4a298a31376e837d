"""A deploy migrates first: older code works on a schema that has more than it knows, with defaults in the database."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection

from hubqueue import officers
from hubqueue.lifecycle.purge import Walk, purge_jobs
from hubqueue.lifecycle.rescue import rescue
from hubqueue.lifecycle.run import run
from hubqueue.lifecycle.workers import store_progress
from hubqueue.models import Failure, Job
from hubqueue.runner.schema import missing_migrations
from hubqueue.states import State
from tests.support.handlers import SCRIPTS, scripted
from tests.support.rival import Rival
from tests.support.rows import attempt_of, claim_all, claim_one, now

pytestmark = pytest.mark.django_db(transaction=True)

NEWER = """
ALTER TABLE hubqueue_job ADD COLUMN extra text NOT NULL DEFAULT 'x', ADD COLUMN other jsonb;
ALTER TABLE hubqueue_failure ADD COLUMN extra text NOT NULL DEFAULT 'x';
ALTER TABLE hubqueue_worker ADD COLUMN extra text NOT NULL DEFAULT 'x';
CREATE INDEX hubqueue_job_of_tomorrow ON hubqueue_job (extra);
INSERT INTO django_migrations (app, name, applied) VALUES ('hubqueue', '0999_of_tomorrow', now());
"""
OLDER = """
DROP INDEX IF EXISTS hubqueue_job_of_tomorrow;
ALTER TABLE hubqueue_job DROP COLUMN IF EXISTS extra, DROP COLUMN IF EXISTS other;
ALTER TABLE hubqueue_failure DROP COLUMN IF EXISTS extra;
ALTER TABLE hubqueue_worker DROP COLUMN IF EXISTS extra;
DELETE FROM django_migrations WHERE name = '0999_of_tomorrow';
"""


@pytest.fixture
def boom() -> Iterator[str]:
    def fail(job: object) -> None:
        raise RuntimeError("as asked")

    SCRIPTS["boom"] = fail
    yield "boom"
    del SCRIPTS["boom"]


def everything(boom: str) -> None:
    """One of each thing that old code does to a row, over this session."""
    scripted.enqueue_many([scripted.using(dedupe_key=key).item() for key in "abc"])
    scripted.enqueue(script=boom)
    settled = [run(attempt_of(each)) for each in claim_all()]
    assert sorted(each.state for each in settled) == [State.READY, *[State.SUCCEEDED] * 3]
    Job.objects.filter(state=State.READY).delete()

    scripted.enqueue()
    held = claim_one()
    assert store_progress([(held.id, held.fence, 0.5)], using="default") == {held.id}
    (rescued,) = rescue(held.claimed_by, cause="lease", alone=False, using="default")
    assert rescued.state == State.READY
    officers.park(held.id, actor="pat", reason="test")
    officers.release(held.id, actor="pat", reason="test")
    officers.cancel(held.id, actor="pat", reason="test")
    assert Failure.objects.filter(job_id=held.id).count() == 1

    purge_jobs(
        Walk(),
        now=now() + timedelta(days=100),
        keep_finished=timedelta(days=30),
        keep_dead=timedelta(days=30),
        within=timedelta(seconds=10),
        using="default",
    )
    assert not Job.objects.exists()


@pytest.fixture
def other() -> Iterator[Rival]:
    """Somebody else's session; the schema is as it was afterwards."""
    with Rival() as rival:
        yield rival
        rival.do(lambda: connection.cursor().execute(OLDER))


def test_everything_works_while_a_migration_of_tomorrow_comes_and_goes(
    boom: str, other: Rival
) -> None:
    """Over one session, whose statements and functions were planned before."""
    for statements in ("SELECT 1", NEWER, OLDER):
        other.do(lambda statements=statements: connection.cursor().execute(statements))
        for _ in range(7):  # more often than anything is planned anew
            everything(boom)
        assert missing_migrations("default") == []
