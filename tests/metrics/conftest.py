"""Every test reads its own picture of the queue."""

from collections.abc import Iterator

import pytest

from hubqueue import gauges, probes


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    """No answer of an earlier test is given again."""
    gauges.current.forget()
    probes._readiness.forget()
    yield
    gauges.current.forget()
    probes._readiness.forget()
