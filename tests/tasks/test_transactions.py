"""A function is enqueued, told of and run with the transactions around it."""

from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import Group
from django.db import transaction

from hubqueue.backend.compat import TaskResultDoesNotExist, task_enqueued
from hubqueue.errors import LeaseLost
from hubqueue.models import Job
from hubqueue.testing import run_due_jobs, steal_lease
from tests.tasks import functions
from tests.tasks.conftest import OURS, Stage, on
from tests.tasks.framework import default_task_backend

Use = Callable[..., None]


@OURS
def test_a_rolled_back_enqueue_leaves_no_job_and_is_told_to_nobody(
    stage: Stage, told: list[Any]
) -> None:
    with transaction.atomic():
        result = functions.nothing.enqueue()
        transaction.set_rollback(True)

    assert not Job.objects.exists()
    assert told == []
    with pytest.raises(TaskResultDoesNotExist):
        default_task_backend.get_result(result.id)


@OURS
def test_an_enqueue_is_told_when_its_transaction_has_committed(
    stage: Stage, told: list[Any]
) -> None:
    with transaction.atomic():
        functions.nothing.enqueue()
        assert told == []
    assert [name for name, _, _ in told] == ["enqueued"]


@OURS
def test_an_awaited_enqueue_is_in_the_transaction_around_it(stage: Stage) -> None:
    async def both() -> None:
        def in_transaction() -> None:
            with transaction.atomic():
                async_to_sync(functions.nothing.aenqueue)()
                transaction.set_rollback(True)

        await sync_to_async(in_transaction)()

    async_to_sync(both)()
    assert not Job.objects.exists()


@OURS
def test_a_receiver_that_fails_loses_neither_enqueue_nor_run(stage: Stage) -> None:
    def break_down(**kwargs: Any) -> None:
        raise RuntimeError

    task_enqueued.connect(break_down)
    try:
        result = functions.nothing.enqueue()
    finally:
        task_enqueued.disconnect(break_down)
    assert stage.settled(result).return_value is None


@on("hubqueue")
def test_a_function_runs_outside_a_transaction_and_what_it_wrote_before_it_raised_stays(
    stage: Stage,
) -> None:
    assert stage.settled(functions.write.enqueue("alone")).return_value is False
    stage.settled(functions.fail.enqueue("it raised"))
    assert Group.objects.filter(name="before it raised").exists()


@on("hubqueue-transactional")
def test_a_transactional_function_writes_with_its_completion_or_not_at_all(stage: Stage) -> None:
    assert stage.settled(functions.write.enqueue("together")).return_value is True
    stage.settled(functions.fail.enqueue("it raised"))
    assert list(Group.objects.values_list("name", flat=True)) == ["together"]


@OURS
def test_a_coroutine_writes_over_the_connection_of_its_run(stage: Stage) -> None:
    transactional = stage.name == "hubqueue-transactional"
    assert stage.settled(functions.write_async.enqueue("loop")).return_value is transactional
    assert Group.objects.filter(name="loop").exists()


@OURS
def test_a_superseded_run_writes_nothing_through_its_job_and_stores_no_answer(
    stage: Stage, told: list[Any]
) -> None:
    def lose(context: Any) -> str:
        steal_lease(context.job)
        with pytest.raises(LeaseLost), context.job.transaction():
            Group.objects.create(name="zombie")
        return "stale"

    functions.SCRIPTS["lose"] = lose
    result = functions.act.enqueue("lose")
    run_due_jobs()

    result.refresh()
    assert result.status == "RUNNING"
    assert not Group.objects.filter(name="zombie").exists()
    assert [name for name, _, _ in told] == ["enqueued", "started"]


@OURS
def test_a_function_enqueues_more_with_its_own_completion(stage: Stage, told: list[Any]) -> None:
    functions.SCRIPTS["more"] = lambda context: functions.see.enqueue("second").id
    first = stage.settled(functions.act.enqueue("more"))
    assert functions.SEEN == ["second"]
    assert default_task_backend.get_result(first.return_value).status == "SUCCESSFUL"
