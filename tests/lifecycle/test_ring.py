"""The doorbell: rung at the commit of what is due, by one transaction at a time, left out where another rings."""

from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection, transaction

from hubqueue.direct import open_session
from hubqueue.ids import uuid7
from hubqueue.lifecycle import ring
from hubqueue.lifecycle.ring import CHANNEL
from hubqueue.models import Job
from tests.support.handlers import scripted
from tests.support.rival import Rival
from tests.support.rows import now

pytestmark = pytest.mark.django_db(transaction=True)

OURS = CHANNEL + scripted.queue
# Seconds. Long enough for a slow machine.
QUIET = 10.0


class Ear:
    """Hears the bell of the samples' queue."""

    def __init__(self) -> None:
        self.session = open_session("ear")
        self.session.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(OURS)))

    def heard(self) -> int:
        """How often it rang since the last look. Whatever was committed before has arrived with the answer."""
        self.session.execute("SELECT 1")
        return len(list(self.session.notifies(timeout=0)))


@pytest.fixture
def ear() -> Iterator[Ear]:
    made = Ear()
    yield made
    made.session.close()


@pytest.fixture(autouse=True)
def nothing_rang_lately(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ring, "_rang", {})
    monkeypatch.setattr(ring, "_quiet_time", lambda: QUIET)
    monkeypatch.setattr(ring, "SELDOM", 10 * QUIET)


def rang_a_while_ago() -> None:
    """Longer ago than the quiet time, but not long."""
    for key in ring._rang:
        ring._rang[key] -= 2 * QUIET


def put_alone() -> None:
    """An enqueue that rings, seen before its commit."""
    request = f'[{{"id": "{uuid7()}", "kind": "k", "queue": "default", "payload": {{}}, "max_attempts": 1}}]'
    with connection.cursor() as cursor:
        cursor.execute("SELECT rung FROM hubqueue_enqueue(%s, %s, true)", [request, '["default"]'])
        assert cursor.fetchone() == (["default"],)


def test_what_is_due_rings_once_for_a_quiet_time(ear: Ear) -> None:
    scripted.enqueue()
    assert ear.heard() == 1
    scripted.enqueue()
    scripted.enqueue_many([scripted.item(), scripted.item()])
    assert ear.heard() == 0
    rang_a_while_ago()
    scripted.enqueue()
    assert ear.heard() == 1


def test_what_is_for_later_rings_no_bell(ear: Ear) -> None:
    scripted.using(run_at=now().replace(year=now().year + 1)).enqueue()
    assert ear.heard() == 0


def test_a_transaction_rings_at_its_commit_and_not_when_it_is_rolled_back(ear: Ear) -> None:
    with transaction.atomic():
        scripted.enqueue()
        assert ear.heard() == 0
        transaction.set_rollback(True)
    assert ear.heard() == 0
    with transaction.atomic():
        scripted.enqueue()
        scripted.enqueue()
    assert ear.heard() == 1


def test_a_process_that_rings_often_rings_after_its_transactions(ear: Ear) -> None:
    scripted.enqueue()
    ear.heard()
    rang_a_while_ago()
    with transaction.atomic():
        scripted.enqueue()
        scripted.enqueue()
        rung_inside = ring.may_ring([scripted.queue], alone=False, using="default")
    assert rung_inside == []
    assert ear.heard() == 1


def test_a_bell_that_another_is_ringing_is_left_to_it_without_a_wait(ear: Ear) -> None:
    with Rival() as rival:
        rival.begin()
        rival.do(put_alone)
        scripted.enqueue()
        assert ear.heard() == 0
        assert Job.objects.count() == 1
        rival.commit()
        assert ear.heard() == 1
    scripted.enqueue()
    assert ear.heard() == 1


def test_a_long_transaction_that_enqueued_keeps_nobody_from_ringing(ear: Ear) -> None:
    with Rival() as rival:
        rival.begin()
        rival.do(scripted.enqueue)
        scripted.enqueue()
        assert ear.heard() == 1
        rival.rollback()
