"""A poller that owes a moment always has an unfinished job."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import REGISTRY

from hubqueue.api import Handler
from hubqueue.models import Job
from hubqueue.querysets import Now
from hubqueue.registry import Poller
from hubqueue.scheduler import counters  # noqa: F401  registers the receivers
from hubqueue.scheduler.errors import PartlyFailed
from hubqueue.scheduler.pollers import reseed
from hubqueue.signals import poller_reseeded
from hubqueue.states import State

pytestmark = pytest.mark.django_db

MOMENT = datetime(2026, 5, 6, 12, tzinfo=UTC)
KEY = "the.poller"


@pytest.fixture
def counted() -> Iterator[list[str]]:
    kinds: list[str] = []

    def note(*, kind: str, **_: object) -> None:
        kinds.append(kind)

    poller_reseeded.connect(note)
    yield kinds
    poller_reseeded.disconnect(note)


def finish() -> None:
    Job.objects.update(state=State.DEAD, finished_at=Now())


def test_a_poller_that_died_is_enqueued_at_the_moment_it_owes_and_counted(
    ticking: Handler[[]], counted: list[str]
) -> None:
    ticking.using(dedupe_key=KEY).enqueue()
    finish()
    assert reseed([Poller(ticking, KEY, lambda: MOMENT)], using="default") == 1
    job = Job.objects.unfinished_with_key(ticking.kind, KEY).get()
    assert job.run_at == MOMENT
    assert counted == [ticking.kind]


@pytest.mark.parametrize("state", [State.READY, State.PARKED])
def test_a_poller_with_an_unfinished_job_is_left_alone(
    ticking: Handler[[]], counted: list[str], state: State
) -> None:
    ticking.using(dedupe_key=KEY, run_at=MOMENT + timedelta(days=1)).enqueue()
    Job.objects.update(state=state)
    assert reseed([Poller(ticking, KEY, lambda: MOMENT)], using="default") == 0
    assert Job.objects.get().run_at == MOMENT + timedelta(days=1)
    assert counted == []


def test_a_poller_that_owes_nothing_is_left_alone(ticking: Handler[[]], counted: list[str]) -> None:
    assert reseed([Poller(ticking, KEY, lambda: None)], using="default") == 0
    assert Job.objects.count() == 0
    assert counted == []


def test_a_poller_that_finished_its_work_between_two_looks_did_not_die(
    ticking: Handler[[]], counted: list[str]
) -> None:
    answers = iter([MOMENT, None])
    assert reseed([Poller(ticking, KEY, lambda: next(answers))], using="default") == 0
    assert counted == []


def test_the_counter_of_pollers_that_died_counts_by_kind(ticking: Handler[[]]) -> None:
    def count() -> float:
        labels = {"kind": ticking.kind}
        return REGISTRY.get_sample_value("hubqueue_pollers_reseeded_total", labels) or 0

    before = count()
    reseed([Poller(ticking, KEY, lambda: MOMENT)], using="default")
    reseed([Poller(ticking, KEY, lambda: MOMENT)], using="default")
    assert count() == before + 1


def test_a_poller_that_cannot_say_what_it_owes_stops_no_other(
    ticking: Handler[[]], counted: list[str]
) -> None:
    def broken() -> datetime:
        raise RuntimeError("secret")

    with pytest.raises(PartlyFailed):
        reseed(
            [Poller(ticking, "broken", broken), Poller(ticking, KEY, lambda: MOMENT)],
            using="default",
        )
    assert counted == [ticking.kind]
