"""Processes are killed while they work: what they held runs again, and takes effect once."""

from signal import SIGKILL

from tests.faults.site import Site
from tests.support.wait import until
from tests.support.workers import is_alive, send


def test_a_worker_child_is_killed(site: Site) -> None:
    (tree,) = site.trees
    (victim, *_) = tree.regular()
    site.load.goes_on(5)
    send(victim.pid, SIGKILL)
    until(lambda: not is_alive(victim.pid), message="the child's end")
    site.check(explained={"worker_died"})
