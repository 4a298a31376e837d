"""Grouped: jobs of one kind share a commit; whatever goes wrong, each takes effect exactly once or not at all."""

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, OperationalError, connection, transaction

from hubqueue.api import Dead, Done, JobContext, Result, Retry
from hubqueue.errors import Interrupted, TimedOut
from hubqueue.lifecycle import grouped
from hubqueue.lifecycle.grouped import run_together
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.losses import IN_A_ROW
from hubqueue.lifecycle.owed import Owed, pay
from hubqueue.lifecycle.run import run
from hubqueue.models import Failure, Job
from hubqueue.runner.latch import Latch
from hubqueue.states import State
from tests.support.cut import lose_the_next_commit, session_of_the_queue
from tests.support.handlers import script, scripted
from tests.support.rival import Rival
from tests.support.rows import attempt_of, claim_all, now

pytestmark = pytest.mark.django_db(transaction=True)

Script = Callable[[JobContext], Result | None]


@pytest.fixture(params=[False, True], ids=["waiting", "pipelined"], autouse=True)
def pipelined(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every promise holds when statements wait for no answer as well."""
    monkeypatch.setattr(scripted, "pipeline", request.param)


def note(job: JobContext) -> None:
    Group.objects.create(name=f"{job.id} {job.attempt}")


def run_scripts(*functions: Script, call: Any = lambda f: f()) -> Sequence[Any] | None:
    """One job per function, in one group. The answer of ``run_together``."""
    scripts = [script(function) for function in functions]
    names = [each.__enter__() for each in scripts]
    try:
        scripted.enqueue_many([scripted.item(script=name) for name in names])
        by_script = {each.payload["script"]: each for each in claim_all()}
        return run_together([attempt_of(by_script[name]) for name in names], call)
    finally:
        for each in scripts:
            each.__exit__(None, None, None)


def assert_nothing_happened() -> None:
    assert not Group.objects.exists()
    assert set(Job.objects.values_list("state", "attempts")) == {(State.RUNNING, 1)}
    assert not Failure.objects.exists()


def test_a_group_is_one_commit() -> None:
    seen: list[tuple[int, int]] = []

    with Rival() as rival:

        def look(job: JobContext) -> None:
            note(job)
            done = Job.objects.filter(state=State.SUCCEEDED)
            seen.append((rival.do(Group.objects.count), rival.do(done.count)))

        outcomes = run_scripts(look, look, look)
    assert outcomes is not None
    assert [each.state for each in outcomes] == [State.SUCCEEDED] * 3
    assert seen == [(0, 0)] * 3
    assert Group.objects.count() == 3


def test_each_job_of_a_group_has_its_own_outcome() -> None:
    outcomes = run_scripts(
        lambda job: Done({"n": 1}), lambda job: Retry(code="later"), lambda job: Dead("no")
    )
    assert outcomes is not None
    assert [each.state for each in outcomes] == [State.SUCCEEDED, State.READY, State.DEAD]
    assert sorted(Failure.objects.values_list("code", flat=True)) == ["later", "no"]


def fail(job: JobContext) -> None:
    note(job)
    raise LookupError


def swallow(job: JobContext) -> None:
    note(job)
    try:
        connection.cursor().execute("SELECT 1 / 0")
    except DatabaseError:
        return


def answer_nonsense(job: JobContext) -> Any:
    note(job)
    return "done"


@pytest.mark.parametrize("spoiler", [fail, swallow, answer_nonsense])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_that_spoils_the_transaction_rolls_all_back_unspent(
    spoiler: Script, place: int
) -> None:
    functions: list[Script] = [note, note, note]
    functions[place] = spoiler
    assert run_scripts(*functions) is None
    assert_nothing_happened()


def test_a_constraint_that_is_deferred_spoils_the_group_before_the_settle() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE deferred_pair (n int, CONSTRAINT deferred_pair_once UNIQUE (n)"
            " DEFERRABLE INITIALLY DEFERRED)"
        )
    try:

        def insert(job: JobContext) -> None:
            note(job)
            connection.cursor().execute("INSERT INTO deferred_pair VALUES (1)")

        assert run_scripts(insert, insert) is None
        assert_nothing_happened()
    finally:
        connection.cursor().execute("DROP TABLE deferred_pair")


def test_a_job_that_was_lost_meanwhile_spoils_the_group() -> None:
    with Rival() as rival:

        def lose(job: JobContext) -> None:
            note(job)
            rival.do(lambda: Job.objects.filter(pk=job.id).update(fence=job.claimed.fence + 1))

        assert run_scripts(note, lose) is None
    assert not Group.objects.exists()


def test_a_timeout_inside_a_group_rolls_all_back_unspent() -> None:
    latch = Latch()

    def late(job: JobContext) -> None:
        note(job)
        latch.fire(TimedOut)

    assert run_scripts(note, late, note, call=latch.call) is None
    assert_nothing_happened()


def test_an_interrupt_hands_every_job_of_the_group_back_unspent() -> None:
    latch = Latch()

    def interrupt(job: JobContext) -> None:
        note(job)
        latch.fire(Interrupted)

    outcomes = run_scripts(note, interrupt, call=latch.call)
    assert outcomes is not None
    assert [(each.state, each.attempts) for each in outcomes] == [(State.READY, 0)] * 2
    assert not Group.objects.exists()


def test_a_failing_on_commit_hook_loses_no_other(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []

    def boom() -> None:
        heard.append("boom")
        raise LookupError("secret")

    def first(job: JobContext) -> None:
        transaction.on_commit(boom)

    def second(job: JobContext) -> None:
        transaction.on_commit(lambda: heard.append("second"))

    with caplog.at_level(logging.ERROR):
        outcomes = run_scripts(first, second)
    assert outcomes is not None
    assert heard == ["boom", "second"]
    assert "on_commit hook failed" in caplog.text
    assert "secret" not in caplog.text


def test_a_commit_whose_answer_is_lost_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    lose_the_next_commit(monkeypatch, after=True)
    outcomes = run_scripts(note, note)
    assert outcomes is not None
    settled = [pay(each) if isinstance(each, Owed) else each for each in outcomes]
    assert [each.state for each in settled] == [State.SUCCEEDED] * 2
    assert Group.objects.count() == 2


def test_a_commit_that_never_arrived_rolls_all_back_unspent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lose_the_next_commit(monkeypatch, after=False)
    assert run_scripts(note, note) is None
    assert_nothing_happened()


def test_a_commit_that_never_arrived_at_a_server_that_is_away_hands_all_back_unspent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lose_the_next_commit(monkeypatch, after=False)

    def away(*_: object, **__: object) -> None:
        raise OperationalError("the server is away")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(grouped, "fenced", away)
        outcomes = run_scripts(note, note)
    assert outcomes is not None
    settled = [pay(each) if isinstance(each, Owed) else each for each in outcomes]
    assert [(each.state, each.attempts) for each in settled] == [(State.READY, 0)] * 2
    assert not Group.objects.exists()


ENDS_ITS_SESSION = """
CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER ends_its_session AFTER INSERT ON auth_group DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (new.name LIKE 'bad%') EXECUTE FUNCTION end_session()
"""


@pytest.fixture
def deadly() -> Iterator[None]:
    """A group with a name that begins with "bad" ends the session at the COMMIT."""
    with connection.cursor() as cursor:
        cursor.execute(ENDS_ITS_SESSION)
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER ends_its_session ON auth_group; DROP FUNCTION end_session()")


def together_or_apart(claimed: Sequence[Claimed]) -> None:
    """As a worker does it."""
    attempts = [attempt_of(each) for each in claimed]
    outcomes = run_together(attempts, lambda f: f()) or [run(each) for each in attempts]
    while owed := [each for each in outcomes if isinstance(each, Owed)]:
        outcomes = [pay(each) for each in owed]


def test_a_member_that_ends_the_session_at_the_commit_pays_for_it_and_holds_up_no_other(
    deadly: None,
) -> None:
    def die(job: JobContext) -> None:
        Group.objects.create(name=f"bad {job.id}")

    with script(note) as good, script(die) as bad, session_of_the_queue():
        scripted.enqueue(script=bad)
        for number in range(1, IN_A_ROW + 1):
            scripted.enqueue(script=good)
            Job.objects.filter(state=State.READY).update(run_at=now() - timedelta(seconds=1))
            claimed = claim_all()
            assert len(claimed) == 2
            together_or_apart(claimed)
            assert Job.objects.filter(state=State.SUCCEEDED).count() == number
    job = Job.objects.get(state=State.READY)
    assert job.attempts == 1
    assert list(Failure.objects.values_list("job_id", "code", "spent").order_by("id")) == [
        *[(job.pk, "connection_lost", False)] * (IN_A_ROW - 1),
        (job.pk, "connection_lost", True),
    ]
