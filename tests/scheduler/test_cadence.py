"""When a duty is due."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from hubqueue.registry import Cadence
from hubqueue.scheduler.cadence import is_due

RAN = datetime(2026, 5, 6, 12, 30, 20, tzinfo=UTC)


def due(cadence: Cadence, after: timedelta, *, succeeded: bool = True) -> bool:
    return is_due(
        cadence, RAN + after, ran_at=RAN, succeeded_at=RAN if succeeded else RAN - timedelta(days=1)
    )


@pytest.mark.parametrize("cadence", list(Cadence))
def test_a_duty_that_never_ran_is_due(cadence: Cadence) -> None:
    assert is_due(cadence, RAN, ran_at=None, succeeded_at=None)


@pytest.mark.parametrize(
    ("cadence", "not_yet", "due_after"),
    [
        (Cadence.MINUTE, timedelta(seconds=39), timedelta(seconds=40)),
        (Cadence.HOUR, timedelta(minutes=29, seconds=39), timedelta(minutes=29, seconds=40)),
        (
            Cadence.DAY,
            timedelta(hours=11, minutes=29, seconds=39),
            timedelta(hours=11, minutes=29, seconds=40),
        ),
    ],
)
def test_a_duty_is_due_at_the_first_tick_of_its_minute_hour_or_day(
    cadence: Cadence, not_yet: timedelta, due_after: timedelta
) -> None:
    assert not due(cadence, not_yet)
    assert due(cadence, due_after)


def test_the_day_of_a_duty_is_the_day_of_utc() -> None:
    tonga = timezone(timedelta(hours=13))
    before, after = (
        datetime(2026, 5, 6, 23, 59, tzinfo=UTC),
        datetime(2026, 5, 7, 0, 0, tzinfo=UTC),
    )
    assert not is_due(Cadence.DAY, before.astimezone(tonga), ran_at=RAN, succeeded_at=RAN)
    assert is_due(Cadence.DAY, after.astimezone(tonga), ran_at=RAN, succeeded_at=RAN)


def test_a_duty_of_each_tick_is_always_due() -> None:
    assert due(Cadence.TICK, timedelta(0))


def test_a_failed_daily_duty_is_tried_again_in_the_next_minute() -> None:
    assert not due(Cadence.DAY, timedelta(seconds=39), succeeded=False)
    assert due(Cadence.DAY, timedelta(seconds=40), succeeded=False)


def test_a_clock_that_was_set_back_silences_no_duty() -> None:
    assert due(Cadence.DAY, timedelta(days=-400))
