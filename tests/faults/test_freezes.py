"""Processes stand still for longer than their lease and go on as if nothing had been: what they lost stays lost."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from signal import SIGCONT, SIGSTOP
from uuid import UUID, uuid4

from tests.faults.load import BRISK
from tests.faults.site import Site
from tests.support.wait import until
from tests.support.workers import Child, is_alive, is_stopped, send

PAST_THE_LEASE = 1.25 * BRISK["LEASE"]
# Handlers that stood still ran for longer than they may, and what the others took back is theirs.
CAUSES = {"worker_died", "connection_lost", "interrupted"}


@contextmanager
def frozen(*pids: int) -> Iterator[None]:
    """Stopped, and let go on at the end unless they were killed meanwhile."""
    try:
        for pid in pids:
            send(pid, SIGSTOP)
        until(lambda: all(is_stopped(pid) for pid in pids), message="the stop")
        yield
    finally:
        for pid in pids:
            send(pid, SIGCONT)


def stand_still() -> None:
    time.sleep(PAST_THE_LEASE)  # the length of the freeze is what is tried


def test_a_child_is_frozen_past_the_lease(site: Site) -> None:
    """Its supervisor renews for it."""
    with frozen(site.trees[0].regular()[0].pid):
        stand_still()
    site.check(explained=CAUSES, spent={"timeout"})


def test_a_supervisor_is_frozen_past_the_lease(site: Site) -> None:
    """Its children work on under a lease that passes; the other worker takes what they hold."""
    with frozen(site.trees[0].pid):
        stand_still()
    site.check(explained=CAUSES)


def test_a_whole_worker_is_frozen_past_the_lease(site: Site) -> None:
    with frozen(*site.trees[0].pids()):
        stand_still()
    site.check(explained=CAUSES, spent={"timeout"})


def test_the_scheduler_that_leads_is_frozen_past_its_term(site: Site) -> None:
    leader = site.leader()
    with frozen(leader):
        until(lambda: site.leader() != leader, message="another leader")
    site.check()
    assert is_alive(leader)


def test_a_child_is_frozen_while_it_holds_the_lock_of_its_jobs_row(site: Site) -> None:
    """Whoever enqueues the same key waits for it, until its supervisor ends it."""
    _, holder = holding(site)
    with frozen(holder.pid):
        until(lambda: not is_alive(holder.pid), timeout=60, message="the end of the frozen child")
    site.check(explained=CAUSES, spent={"timeout"})


def test_a_whole_worker_is_frozen_while_it_holds_the_lock_of_a_jobs_row(site: Site) -> None:
    """Nobody can end it. The server ends its transaction when no handler may run for as long, and others go on."""
    job, holder = holding(site)
    (tree,) = [tree for tree in site.trees if holder in tree.children()]
    with frozen(*tree.pids()):
        site.hub.reaches(job, "SUCCEEDED")
    site.check(explained=CAUSES, spent={"timeout"})


def holding(site: Site) -> tuple[UUID, Child]:
    """A job, and the child whose handler holds the lock of its row at this moment, and for another second."""
    name = f"frozen {uuid4()}"
    site.hub.rows("INSERT INTO burden_wanted (name) VALUES (%s)", [name])
    (job,) = site.hub.put("burden.plain", [{"name": name, "seconds": 1.5, "hold": True}])

    def is_held() -> bool:
        row = site.hub.job(job)
        free = site.hub.rows(
            "SELECT 1 FROM hubqueue_job WHERE id = %s FOR UPDATE SKIP LOCKED", [job]
        )
        return row["state"] == "RUNNING" and not free

    until(is_held, message="a handler that holds its row")
    worker = site.hub.job(job)["claimed_by"]
    (child,) = [each for tree in site.trees for each in tree.children() if each.worker == worker]
    return job, child
