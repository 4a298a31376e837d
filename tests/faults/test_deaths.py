"""Processes are killed while they work: what they held runs again, and takes effect once."""

from signal import SIGKILL

from tests.faults.load import start_workers
from tests.faults.site import Site
from tests.support.wait import until
from tests.support.workers import is_alive, send


def kill(*pids: int) -> None:
    for pid in pids:
        send(pid, SIGKILL)
    until(lambda: not any(is_alive(pid) for pid in pids), message="the end of those killed")


def test_worker_children_are_killed_one_after_the_other(site: Site) -> None:
    for tree in site.trees:
        site.load.goes_on(5)
        kill(tree.regular()[0].pid)
    site.check(explained={"worker_died"})


def test_all_children_of_all_workers_are_killed_at_once(site: Site) -> None:
    kill(*(child.pid for tree in site.trees for child in tree.children()))
    site.check(explained={"worker_died"})


def test_a_supervisor_is_killed_and_another_is_started(site: Site) -> None:
    """Its children interrupt what they run and go; the scheduler goes with them."""
    orphans = site.trees[0].pids()[1:]
    kill(site.trees[0].pid)
    site.trees[0] = start_workers(site.hub, processes=1)
    until(lambda: not any(is_alive(pid) for pid in orphans), message="the end of the orphans")
    site.check(explained={"worker_died", "interrupted", "connection_lost"})


def test_the_scheduler_that_leads_is_killed(site: Site) -> None:
    kill(site.leader())
    site.check()


def test_a_whole_worker_is_killed_with_its_load_halved(site: Site) -> None:
    """Nobody is left who knows what it had in flight: the other worker sees its sessions gone."""
    gone = site.trees.pop(0)
    gone.kill_tree()
    site.check(explained={"worker_died"})
    site.trees.append(start_workers(site.hub, processes=1))
