"""The network slows down, freezes, or is away: it is waited out, and nobody pays for it."""

from tests.faults.far import SECONDS, Far
from tests.faults.load import start_workers
from tests.support.hub import PATIENT
from tests.support.wait import until

LOST = {"connection_lost", "row_busy"}


def frozen_past_the_lease(far: Far) -> None:
    """Wait until every lease has passed, on the database's clock."""
    until(
        lambda: far.site.hub.rows(
            "SELECT bool_and(lease_until < hubqueue_now()) AS passed FROM hubqueue_worker"
        )[0]["passed"],
        timeout=PATIENT,
        message="the end of the leases",
    )


def seconds_pass(far: Far, seconds: float) -> None:
    """So long on the database's clock: the length of a freeze is what is tried."""
    (row,) = far.site.hub.rows("SELECT clock_timestamp() AS now")
    until(
        lambda: far.site.hub.rows(
            "SELECT clock_timestamp() > %s + make_interval(secs => %s) AS over",
            [row["now"], seconds],
        )[0]["over"],
        timeout=60 + seconds,
    )


def test_a_slow_network_slows_the_work_and_nothing_else(far: Far) -> None:
    far.proxy.delay(0.05)
    far.site.load.goes_on(20)
    far.proxy.delay(0)
    far.site.check()
    assert far.site.trees[0].lasting() == far.pids


def test_connections_that_are_cut_and_refused_for_longer_than_the_lease(far: Far) -> None:
    far.proxy.refuse()
    far.proxy.cut_all()
    frozen_past_the_lease(far)
    seconds_pass(far, 4)
    far.proxy.refuse(False)
    far.site.check(explained=LOST)
    assert far.site.trees[0].lasting() == far.pids


def test_a_freeze_within_the_lease_costs_nothing(far: Far) -> None:
    for _ in range(2):
        far.proxy.freeze()
        seconds_pass(far, 2)
        far.proxy.thaw()
        far.site.load.goes_on(20)
    far.site.check()
    assert far.site.trees[0].lasting() == far.pids


def test_a_freeze_past_the_lease_spends_no_attempt(far: Far) -> None:
    far.proxy.freeze()
    frozen_past_the_lease(far)
    seconds_pass(far, 6)
    far.proxy.thaw()
    far.site.load.goes_on(20)
    far.site.check(explained=LOST)
    assert far.site.trees[0].lasting() == far.pids


def test_what_is_frozen_past_its_lease_runs_elsewhere_and_changes_nothing_later(far: Far) -> None:
    hub = far.site.hub
    workers = [child.worker for child in far.site.trees[0].children()]
    far.proxy.freeze()
    near = start_workers(hub, seconds=SECONDS)
    held = "SELECT 1 FROM hubqueue_job WHERE state = 'RUNNING' AND claimed_by = ANY (%s)"
    until(lambda: not hub.rows(held, [workers]), timeout=PATIENT, message="the rescue")
    wanted = far.site.load.wanted()
    until(
        lambda: not wanted - {row["name"] for row in hub.rows("SELECT name FROM burden_effect")},
        timeout=2 * PATIENT,
        message="the work of the frozen",
    )
    far.proxy.thaw()
    far.site.trees.append(near)
    far.site.load.goes_on(20)
    far.site.check(explained=LOST | {"worker_died"})
    assert far.site.trees[0].alive
    far.site.sound = False  # near needs no network: whoever comes next would wait for the end of its lease in vain
