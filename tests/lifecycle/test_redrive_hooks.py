"""What on_abandon ended, on_redrive takes up again: in the redrive's transaction, one job or many."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, transaction

from hubqueue import officers
from hubqueue.api import JobContext, MoveRefused
from hubqueue.models import Job, Operation
from hubqueue.states import State
from tests.support.handlers import scripted, scripted_detached
from tests.support.rows import make_job

pytestmark = pytest.mark.django_db
BY = {"actor": "anna", "reason": "the cause is gone"}
Hook = Callable[[JobContext], object]


@pytest.fixture
def hooked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Hook], None]:
    """``hooked(function)``: the kind of ``scripted`` has it for its redrive hook."""
    return lambda hook: monkeypatch.setattr(scripted, "redrive_hook", hook)


def reopen(job: JobContext) -> None:
    Group.objects.create(name=f"reopened {job.id}")


def refuse(job: JobContext) -> None:
    reopen(job)
    raise MoveRefused("too_late", "it ended meanwhile: see its page.")


def break_down(job: JobContext) -> None:
    reopen(job)
    raise LookupError("secret")


def swallow(job: JobContext) -> None:
    reopen(job)
    with pytest.raises(IntegrityError):
        Group.objects.bulk_create([Group(name="same"), Group(name="same")])


def test_the_hook_runs_with_the_redrive(hooked: Callable[[Hook], None]) -> None:
    hooked(reopen)
    job = make_job(State.DEAD)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        officers.redrive(job.id, **BY)
        raise ZeroDivisionError
    assert not Group.objects.exists()
    assert officers.redrive(job.id, **BY) == State.READY
    assert Group.objects.get().name == f"reopened {job.id}"


@pytest.mark.parametrize(
    ("hook", "code", "said"),
    [
        (refuse, "too_late", "it ended meanwhile: see its page."),
        (break_down, "redrive_failed", "builtins.LookupError"),
        (swallow, "redrive_failed", "django.db."),
    ],
)
def test_a_hook_that_refuses_leaves_the_job_and_everything_else_as_it_was(
    hooked: Callable[[Hook], None], hook: Hook, code: str, said: str
) -> None:
    hooked(hook)
    job = make_job(State.DEAD)
    with pytest.raises(MoveRefused) as refused:
        officers.redrive(job.id, **BY)
    assert refused.value.code == code
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)
    assert Job.objects.get().state == State.DEAD
    assert not Group.objects.exists()
    assert not Operation.objects.exists()


def test_many_are_redriven_in_the_order_given_and_each_hook_answers_for_its_own(
    hooked: Callable[[Hook], None],
) -> None:
    other = scripted_detached.kind
    jobs = [
        make_job(State.DEAD, kind=kind) for kind in (other, scripted.kind, scripted.kind, other)
    ]
    spared = jobs[1]
    hooked(lambda job: refuse(job) if job.id == spared.id else reopen(job))
    answers = list(officers.redrive_many([each.id for each in jobs], **BY))
    assert [each.job_id for each in answers] == [each.id for each in jobs]
    assert [each.code for each in answers] == ["", "too_late", "", ""]
    assert Group.objects.count() == 1
    assert set(Job.objects.dead().values_list("id", flat=True)) == {spared.id}
    assert Operation.objects.count() == 3


def test_an_async_hook_is_refused_when_it_is_registered() -> None:
    async def hook(job: JobContext) -> None: ...

    with pytest.raises(ImproperlyConfigured, match="on_redrive takes a plain function"):
        scripted.on_redrive(hook)
