"""A handler holds the interpreter's lock for three leases: nothing else in its process can run, or say so."""

from collections.abc import Callable, Iterator

import pytest

from tests.faults.load import BRISK
from tests.faults.site import Site
from tests.support.hub import Hub
from tests.support.wait import until

LEASES = 3


@pytest.fixture
def patient_site(fresh_hub: Callable[[], Hub]) -> Iterator[Site]:
    """One worker, whose detached handlers may run for long."""
    site = Site(fresh_hub(), trees=1, seconds=BRISK | {"DETACHED_TIMEOUT": 60})
    yield site
    site.close()


def test_a_handler_that_holds_the_gil_harms_no_neighbour_and_is_renewed_to_its_end(
    patient_site: Site,
) -> None:
    """Its neighbours are late because of it, and nobody can tell who is to blame: each then runs alone, unspent."""
    site, hub = patient_site, patient_site.hub
    site.ready()
    names = [f"neighbour {number}" for number in range(3)]
    for name in names:
        hub.rows("INSERT INTO burden_wanted (name) VALUES (%s)", [name])
    neighbours = hub.put("burden.plain", [{"name": name, "seconds": 1.5} for name in names])
    for job in neighbours:
        until(lambda job=job: hub.job(job)["state"] == "RUNNING", message="its run")  # type: ignore[misc]
    (hog,) = hub.put("proof.gil", [{"name": "hog", "seconds": LEASES * BRISK["LEASE"]}])

    def last_run() -> bool:
        """Wait for the end, and see that whoever runs it has a lease."""
        row = hub.job(hog)
        if row["state"] == "RUNNING":
            holder = hub.rows(
                "SELECT lease_until > hubqueue_now() AS leased FROM hubqueue_worker WHERE id = %s",
                [row["claimed_by"]],
            )
            assert all(each["leased"] for each in holder)
        return bool(row["state"] == "SUCCEEDED")

    until(last_run, timeout=120, message="the end of the handler")
    assert hub.job(hog)["attempts"] == 1
    assert hub.failures(hog) == [(1, False, "worker_died")]
    assert len([line for line in hub.lines("attempts") if line.startswith("hog ")]) == 2
    site.check(explained={"worker_died"})
