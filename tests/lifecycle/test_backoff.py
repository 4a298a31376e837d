"""When to try again: never early, never all at once, never beyond the cap."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubqueue import policy
from hubqueue.api import Backoff, Retry
from hubqueue.models import Job
from hubqueue.testing import run_due_jobs
from tests.support.handlers import script, scripted
from tests.support.rows import now

HOUR = timedelta(hours=1)


@given(attempt=st.integers(1, 10_000), base=st.floats(0.001, 1e5), factor=st.floats(1, 1e5))
def test_a_backoff_is_never_negative_and_never_above_its_ceiling_or_cap(
    attempt: int, base: float, factor: float
) -> None:
    backoff = Backoff(timedelta(seconds=base), timedelta(seconds=base * factor))
    wait = backoff.wait(attempt)
    assert timedelta(0) <= wait <= backoff.ceiling(attempt) <= backoff.cap
    assert backoff.ceiling(attempt) <= backoff.ceiling(attempt + 1)


def test_the_first_ceiling_is_the_base_and_it_doubles() -> None:
    backoff = Backoff(timedelta(seconds=5), timedelta(seconds=60))
    ceilings = [backoff.ceiling(n).total_seconds() for n in range(1, 7)]
    assert ceilings == [5, 10, 20, 40, 60, 60]
    with pytest.raises(ValueError, match="count from 1"):
        backoff.ceiling(0)
    with pytest.raises(ValueError, match="0 < base <= cap"):
        Backoff(timedelta(0))


def test_a_thousand_backoffs_spread_over_the_whole_wait() -> None:
    backoff = Backoff(timedelta(seconds=60))
    waits = [backoff.wait(1).total_seconds() for _ in range(1000)]
    assert min(waits) < 6
    assert max(waits) > 54


@pytest.mark.django_db
def test_a_thousand_asked_waits_spread_over_a_fifth_and_none_comes_early() -> None:
    with script(lambda job: Retry(after=timedelta(seconds=90))) as name:
        claimed_at = now()
        scripted.enqueue_many([scripted.item(script=name) for _ in range(100)])
        run_due_jobs(limit=300)
    waits = [(job.run_at - claimed_at).total_seconds() for job in Job.objects.all()]
    assert min(waits) >= 90
    assert max(waits) - min(waits) >= 0.2 * 90
    assert all(policy.spread(HOUR) >= HOUR for _ in range(1000))
