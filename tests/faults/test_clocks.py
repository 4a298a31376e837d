"""Workers whose clocks are wrong by ten minutes: only the database's clock counts."""

import pytest

from tests.faults.load import start_workers
from tests.faults.site import Site
from tests.support.wait import until

MINUTES = 600


@pytest.fixture
def strange_clocks(site: Site) -> Site:
    """One worker ahead and one behind, with their schedulers."""
    for tree in site.trees:
        tree.kill_tree()
    site.trees[:] = [
        start_workers(site.hub, processes=1, FAULTS_CLOCK_OFF=str(off))
        for off in (MINUTES, -MINUTES)
    ]
    return site


def test_workers_ten_minutes_ahead_and_behind_do_the_work_in_time(strange_clocks: Site) -> None:
    site = strange_clocks
    site.check(explained={"worker_died", "connection_lost"})
    for off in (MINUTES, -MINUTES):
        until(lambda off=off: done_by(site, off), message=f"work of a clock {off} s off")  # type: ignore[misc]
    (row,) = site.hub.rows(
        "SELECT min(extract(epoch FROM claimed_at - run_at)) AS early,"
        " max(extract(epoch FROM claimed_at - run_at)) AS late,"
        " max(abs(extract(epoch FROM finished_at - claimed_at))) AS took FROM hubqueue_job WHERE state = 'SUCCEEDED'"
    )
    assert 0 <= row["early"] <= row["late"] < MINUTES / 2, row
    assert row["took"] < MINUTES / 2, row


def done_by(site: Site, off: float) -> bool:
    """Whether a worker has finished something that believes in a time so many seconds from the database's."""
    statement = (
        "SELECT 1 FROM hubqueue_job WHERE result ? 'clock'"
        " AND abs((result->>'clock')::float8 - extract(epoch FROM finished_at) - %s) < 60 LIMIT 1"
    )
    return bool(site.hub.rows(statement, [off]))
