"""Duties: each on its own, whatever the others do."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import connection

from hubqueue.models import Duty as DutyRow
from hubqueue.models import Leader
from hubqueue.registry import Cadence, Duty, Registry
from hubqueue.scheduler import lane as lanes
from hubqueue.scheduler.lane import Lane
from hubqueue.scheduler.tick import Ticker
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

SHORT = timedelta(milliseconds=200)
LONG = timedelta(seconds=10)
BUILT_IN = {
    "hubqueue.periodic",
    "hubqueue.pollers",
    "hubqueue.purge_jobs",
    "hubqueue.purge_failures",
    "hubqueue.purge_ticks",
    "hubqueue.purge_workers",
}


class Bench:
    """A ticker with the duties of a test."""

    def __init__(self) -> None:
        self.known = Registry()
        self.stop = threading.Event()
        self.lane = Lane("duties", self.stop)
        self.ticker = Ticker(self.known, self.lane, stop=self.stop, deadline=LONG, using="default")

    def add(
        self,
        name: str,
        run: Callable[[], object],
        cadence: Cadence = Cadence.TICK,
        deadline: timedelta = LONG,
    ) -> None:
        self.known.duties[name] = Duty(name, run, cadence, deadline)

    def tick(self) -> dict[str, str]:
        """One tick with all it starts; the codes by duty."""
        self.ticker.tick(new_term=False, still=lambda: True)
        if self.ticker._busy is not None:
            self.ticker._busy.join(30)
        return dict(DutyRow.objects.values_list("name", "error_code"))

    def close(self) -> None:
        """End its threads, those beside first: they would open a connection again."""
        if self.ticker._busy is not None:
            self.ticker._busy.join(30)
        self.lane.close(wait=LONG)
        self.ticker._beside.close(wait=LONG)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(lanes, "GRACE", timedelta(milliseconds=300))
    made = Bench()
    yield made
    made.close()


def raising() -> None:
    raise ValueError("a secret value")


def test_the_leader_signs_and_every_duty_of_the_queue_is_written_down(bench: Bench) -> None:
    assert bench.tick() == dict.fromkeys(BUILT_IN, "")
    leader = Leader.objects.get()
    assert leader.ticked_at is not None
    assert leader.since <= leader.ticked_at
    assert all(row.succeeded_at == row.ran_at for row in DutyRow.objects.all())


def test_a_term_begins_when_another_process_leads_and_not_at_each_tick(bench: Bench) -> None:
    bench.tick()
    first = Leader.objects.get()
    bench.tick()
    same = Leader.objects.get()
    bench.ticker.tick(new_term=True, still=lambda: True)
    assert first.since == same.since < same.ticked_at
    assert Leader.objects.get().since > same.ticked_at


def test_a_duty_that_raises_is_recorded_by_a_safe_word_and_stops_no_other(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.add("a.raising", raising)
    bench.add("b.well", lambda: None)
    codes = bench.tick()
    assert (codes["a.raising"], codes["b.well"]) == ("exception", "")
    assert "a.raising" in caplog.text
    assert "secret" not in caplog.text
    assert DutyRow.objects.get(name="a.raising").succeeded_at is None


def test_a_duty_that_hangs_in_the_database_ends_at_its_deadline_and_stops_no_other(
    bench: Bench,
) -> None:
    def hang() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(600)")

    bench.add("a.hanging", hang, deadline=SHORT)
    bench.add("b.well", lambda: None)
    codes = bench.tick()
    assert (codes["a.hanging"], codes["b.well"]) == ("timeout", "")


def test_a_duty_that_hangs_outside_the_database_is_left_behind_and_not_started_again(
    bench: Bench,
) -> None:
    release, started = threading.Event(), []

    def hang() -> None:
        started.append(threading.current_thread())
        release.wait(60)

    bench.add("a.hanging", hang, deadline=SHORT)
    bench.add("b.well", lambda: None)
    assert bench.tick()["a.hanging"] == "timeout"
    codes = bench.tick()
    assert (codes["a.hanging"], codes["b.well"]) == ("still_running", "")
    assert len(started) == 1
    release.set()
    until(lambda: not started[0].is_alive(), message="the end of what was left behind")
    assert bench.tick()["a.hanging"] == ""


def test_a_duty_that_hangs_keeps_no_periodic_job_waiting(bench: Bench) -> None:
    release = threading.Event()
    bench.add("a.hanging", lambda: release.wait(60))
    for _ in range(3):
        bench.ticker.tick(new_term=False, still=lambda: True)
    ran = DutyRow.objects.get(name="hubqueue.periodic")
    assert ran.ran_at == Leader.objects.get().ticked_at
    assert not DutyRow.objects.filter(name="a.hanging").exists()
    release.set()


def test_a_duty_after_a_failed_one_gets_a_connection_that_works(bench: Bench) -> None:
    def break_it() -> None:
        connection.set_autocommit(False)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")

    def leave_it_open() -> None:
        connection.set_autocommit(False)

    bench.add("a.breaking", break_it)
    bench.add("b.leaving", leave_it_open)
    bench.add("c.well", lambda: connection.cursor().execute("SELECT 1"))
    codes = bench.tick()
    assert (codes["a.breaking"], codes["b.leaving"], codes["c.well"]) == ("database_error", "", "")


def test_a_new_leader_keeps_the_cadence_of_the_old_one(bench: Bench) -> None:
    ran: list[str] = []
    bench.add("daily", lambda: ran.append("daily"), Cadence.DAY)
    bench.add("each", lambda: ran.append("each"))
    bench.tick()
    successor = Bench()
    successor.known.duties.update(bench.known.duties)
    successor.tick()
    successor.close()
    assert ran == ["daily", "each", "each"]


def test_a_rare_duty_is_written_down_before_it_starts(bench: Bench) -> None:
    seen: list[str] = []
    bench.add(
        "daily",
        lambda: seen.append(DutyRow.objects.get(name="daily").error_code),
        Cadence.DAY,
    )
    bench.tick()
    assert seen == ["unfinished"]


def test_a_process_that_no_longer_leads_starts_no_further_duty(bench: Bench) -> None:
    bench.add("a", lambda: None)
    bench.ticker.tick(new_term=False, still=lambda: False)
    assert not DutyRow.objects.filter(error_code="").exists()


def test_a_stop_cuts_a_running_duty_off_at_once(bench: Bench) -> None:
    def hang() -> None:
        bench.stop.set()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(600)")

    bench.add("a.hanging", hang)
    bench.ticker.tick(new_term=False, still=lambda: True)
    assert bench.ticker._busy is not None
    bench.ticker._busy.join(30)
    assert not bench.ticker._busy.is_alive()
