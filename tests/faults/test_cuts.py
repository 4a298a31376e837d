"""The network cuts connections at the worst of moments, again and again, under load: nothing is lost, done twice or
guessed, and nobody pays for it."""

import pytest

from tests.faults.far import Far
from tests.support.link import When
from tests.support.proxy import COMMIT
from tests.support.wait import until

CUTS = 50
# What a lost connection explains; none of them is spent.
LOST = {"connection_lost", "row_busy"}


def cut(far: Far, words: str, when: When, times: int, *, spare: int = 1) -> None:
    """Cut so many connections, and let what is late or lost come to its end after a moment each."""
    before = far.proxy.sprung[when]
    far.proxy.cut_at(words, when, times=times, spare=spare)

    def all_cut() -> bool:
        far.proxy.release()
        return far.proxy.sprung[when] >= before + times

    until(all_cut, timeout=120, message=f"{times} cuts")


@pytest.mark.parametrize("when", ["before", "after", "late", "lost"])
def test_connections_are_cut_at_their_commit(far: Far, when: When) -> None:
    seen = far.site.load.seen_failure
    cut(far, COMMIT, when, CUTS)
    far.site.check(explained=LOST)
    assert far.site.trees[0].lasting() == far.pids
    lost = far.site.hub.rows(
        "SELECT job.kind FROM hubqueue_failure AS failure JOIN hubqueue_job AS job ON job.id = failure.job_id"
        " WHERE failure.id > %s AND failure.code = 'connection_lost'",
        [seen],
    )
    # What was committed is read back: only a detached handler's own transaction may end in doubt.
    assert when != "after" or {row["kind"] for row in lost} <= {"burden.detached"}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "words", ["hubqueue_claim", "hubqueue_settle", "hubqueue_hold", "burden_effect"]
)
def test_connections_are_cut_at_a_statement(far: Far, words: str, when: When) -> None:
    cut(far, words, when, 10)
    far.site.check(explained=LOST)
    assert far.site.trees[0].lasting() == far.pids


@pytest.mark.parametrize("words", ["hubqueue_claim", "hubqueue_settle", COMMIT])
def test_a_statement_is_on_its_way_when_its_client_has_long_connected_again(
    far: Far, words: str
) -> None:
    for _ in range(3):
        before = far.proxy.sprung["late"]
        far.proxy.cut_at(words, "late", times=2, spare=1)
        far.site.load.goes_on(40)
        far.proxy.release()
        until(lambda: far.proxy.sprung["late"] - before == 2, message="the late statements")  # noqa: B023
    far.site.check(explained=LOST, within=20)
    assert far.site.trees[0].lasting() == far.pids
