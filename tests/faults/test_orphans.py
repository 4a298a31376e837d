"""A session that lost its client keeps its transaction and all its locks: it is ended by whoever lost it."""

from collections.abc import Callable, Iterator

import pytest

from tests.faults.load import BRISK
from tests.support.hub import PATIENT, Hub
from tests.support.postgres import Cluster
from tests.support.proxy import COMMIT, Proxy
from tests.support.wait import until

SINGLE = "proof.effect", ["second"]
GROUPED = "proof.effect_grouped", ["second", "third", "fourth"]


class Behind:
    """A worker at work behind a proxy."""

    def __init__(self, hub: Hub, proxy: Proxy, user: str) -> None:
        self.hub, self.proxy = hub, proxy
        name = hub.url.partition("?")[0].rpartition("/")[2]
        url = f"postgres://{user}@127.0.0.1:{proxy.port}/{name}"
        self.tree = hub.ready(seconds=BRISK, DATABASE_URL=url)
        (first,) = hub.put("proof.effect", [{"name": "first"}])
        hub.reaches(first, "SUCCEEDED")

    def lose_a_commit(self) -> None:
        """Set a trap for the next one: the client is cut off, and the server never hears of COMMIT nor of the cut."""
        self.proxy.cut_at(COMMIT, "late")

    def lost(self) -> None:
        until(lambda: not self.proxy.armed, timeout=PATIENT, message="the cut")


@pytest.fixture
def behind(fresh_hub: Callable[[], Hub], postgres: Cluster) -> Iterator[Behind]:
    hub = fresh_hub()
    with Proxy(postgres.port) as proxy:
        yield Behind(hub, proxy, postgres.user)
        hub.close()


@pytest.mark.parametrize(("kind", "names"), [SINGLE, GROUPED])
def test_what_a_lost_commit_had_locked_is_free_again_and_the_work_is_done_once(
    behind: Behind, kind: str, names: list[str]
) -> None:
    behind.lose_a_commit()
    jobs = behind.hub.put(kind, [{"name": name} for name in names])
    behind.lost()
    for job in jobs:
        assert behind.hub.reaches(job, "SUCCEEDED")["attempts"] == 1
    assert behind.hub.effects() == sorted(["first", *names])
    assert behind.tree.alive


def test_a_detached_job_whose_completion_was_lost_is_stored_as_done_without_a_second_run(
    behind: Behind,
) -> None:
    (job,) = behind.hub.put("proof.gated_detached", [{"name": "second"}])
    fence = behind.hub.said("second-1")[2]
    behind.lose_a_commit()
    behind.hub.let_go(fence)
    behind.lost()
    assert behind.hub.reaches(job, "SUCCEEDED")["attempts"] == 1
    assert str(behind.hub.job(job)["fence"]) == fence
