"""Two scheduler processes, one leader, whatever happens to it."""

import signal
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from hubqueue.models import Job, Leader, PeriodicTick
from tests.scheduler.start import Scheduler, holders, sessions, terminate
from tests.support.wait import until

# Alone, as each takeover must come within two ticks.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(240),
]

TICK = 1.0
SLACK = 0.5  # for starting a thread or a connection on a busy machine
MINUTE = timedelta(minutes=1)


def every_minute_once() -> int:
    """Assert that the ticks have no gap, no double, and one job each; answer how many there are."""
    ticks = list(PeriodicTick.objects.filter(job_id__isnull=False).order_by("at"))
    moments = [tick.at for tick in ticks]
    assert moments == [moments[0] + n * MINUTE for n in range(len(moments))]
    carried = Counter(datetime.fromisoformat(job.meta["tick"]) for job in Job.objects.all())
    assert carried == Counter(moments)
    assert {tick.job_id for tick in ticks} == {job.id for job in Job.objects.all()}
    return len(ticks)


def takeover(url: str, gone: int) -> float:
    """Seconds until another session than ``gone`` holds the lock."""
    began = time.monotonic()
    until(lambda: set(holders(url)) - {gone}, message="a new leader")
    return time.monotonic() - began


def test_twenty_terminated_leaders_cost_no_tick_and_double_none(
    process_env: dict[str, str], fast_clock: Callable[[int], datetime]
) -> None:
    fast_clock(60)
    url = process_env["DATABASE_URL"]
    times = []
    with Scheduler(process_env, tick=TICK) as one, Scheduler(process_env, tick=TICK) as two:
        until(lambda: one.leads() or two.leads(), message="a first leader")
        for n in range(20):
            (leader,) = until(lambda: holders(url), message="a leader")
            terminate(url, [leader] if n % 2 else sessions(url))
            times.append(takeover(url, leader))
            count = PeriodicTick.objects.count()
            until(lambda count=count: PeriodicTick.objects.count() > count, message="a tick")
        assert one.process.poll() is None
        assert two.process.poll() is None
    assert max(times) <= 2 * TICK + SLACK, times
    assert every_minute_once() >= 20


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_leader_that_is_killed_or_stopped_is_followed_within_two_ticks(
    process_env: dict[str, str], fast_clock: Callable[[int], datetime], number: signal.Signals
) -> None:
    fast_clock(60)
    url = process_env["DATABASE_URL"]
    with Scheduler(process_env, tick=TICK) as one:
        until(one.leads, message="the first leader")
        with Scheduler(process_env, tick=TICK) as two:
            until(two.follows, message="the follower")
            (leader,) = holders(url)
            one.process.send_signal(number)
            assert takeover(url, leader) <= 2 * TICK + SLACK
            until(two.leads, message="the follower leads")
            assert Leader.objects.get().pid == two.process.pid
            if number is signal.SIGSTOP:
                one.process.send_signal(signal.SIGCONT)
                until(one.follows, message="the old leader follows")
                assert len(holders(url)) == 1
            two.next_line()
            two.next_line()
            assert two.leads()
    assert every_minute_once() >= 2


def test_a_leader_ends_within_a_second_and_its_follower_leads_at_its_next_tick(
    process_env: dict[str, str],
) -> None:
    url = process_env["DATABASE_URL"]
    with Scheduler(process_env, tick=TICK) as one:
        until(one.leads, message="the first leader")
        with Scheduler(process_env, tick=TICK) as two:
            until(two.follows, message="the follower")
            (leader,) = holders(url)
            one.process.send_signal(signal.SIGTERM)
            assert one.process.wait(1 + SLACK) == 0
            assert takeover(url, leader) <= TICK + SLACK


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_the_middle_of_a_duty_ends_the_process_and_its_statement(
    process_env: dict[str, str], number: signal.Signals
) -> None:
    url = process_env["DATABASE_URL"]
    with Scheduler(process_env, SCHEDULER_HANG="1") as one:
        until(one.leads, message="the leader")
        until(lambda: len(sessions(url)) >= 3, message="the hanging duty")
        one.process.send_signal(number)
        assert one.process.wait(1 + 2 * SLACK) == 0
        until(lambda: sessions(url) == [], timeout=30, message="the end of its sessions")
