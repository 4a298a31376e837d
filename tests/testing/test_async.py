"""The kit runs ``async def`` handlers on the test's own connection, in its transaction."""

import asyncio
from collections.abc import Iterator

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group

from hubqueue.api import Done, JobContext, LeaseLost, Result
from hubqueue.models import Job
from hubqueue.states import State
from hubqueue.testing import perform, run_due_jobs, steal_lease
from tests.support.handlers import ASYNC_SCRIPTS, AsyncScript, scripted_async


@pytest.fixture
def name() -> Iterator[str]:
    yield "script"
    ASYNC_SCRIPTS.clear()


async def greets(job: JobContext) -> Result:
    await asyncio.sleep(0)
    async with job.atransaction():
        await Group.objects.acreate(name="greeted")
    return Done("hello", record=lambda: Group.objects.create(name="recorded"))


async def fails(job: JobContext) -> Result:
    async with job.atransaction():
        await Group.objects.acreate(name="never")
        raise ArithmeticError


async def loses(job: JobContext) -> None:
    await sync_to_async(steal_lease)(job)
    async with job.atransaction():
        await Group.objects.acreate(name="of a zombie")


def names() -> set[str]:
    return set(Group.objects.values_list("name", flat=True))


@pytest.mark.parametrize("isolated", [True, False], ids=["in the test's transaction", "committed"])
@pytest.mark.parametrize(
    ("script", "state", "written"),
    [
        (greets, State.SUCCEEDED, {"greeted", "recorded"}),
        (fails, State.READY, set()),
        (loses, None, set()),
    ],
)
def test_an_async_handler_runs_when_due(
    request: pytest.FixtureRequest,
    name: str,
    script: AsyncScript,
    state: State | None,
    written: set[str],
    isolated: bool,
) -> None:
    request.getfixturevalue("db" if isolated else "transactional_db")
    ASYNC_SCRIPTS[name] = script
    job_id = scripted_async.enqueue(script=name).id
    (run,) = run_due_jobs().runs
    assert (run.job_id, run.state) == (job_id, state)
    assert names() == written


def test_an_async_handler_is_performed_by_itself(db: None, name: str) -> None:
    ASYNC_SCRIPTS[name] = greets
    answer = perform(scripted_async, script=name)
    assert isinstance(answer, Done)
    assert answer.result == "hello"
    assert names() == {"greeted"}
    assert not Job.objects.exists()
    ASYNC_SCRIPTS[name] = loses
    with pytest.raises(LeaseLost):
        perform(scripted_async, script=name)


def test_an_async_handler_is_called_as_what_it_is(name: str) -> None:
    async def answers(job: JobContext) -> Result:
        return Done(5)

    ASYNC_SCRIPTS[name] = answers
    assert asyncio.run(scripted_async(None, script=name)) == Done(5)
