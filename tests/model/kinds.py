"""The kinds of the model: what their handlers do is what the step that runs them says."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from django.contrib.auth.models import Group

from hubqueue.api import Backoff, Handler, JobContext, Result, handler

BACKOFF = Backoff(base=timedelta(minutes=20), cap=timedelta(hours=1))
GIVE_UP_AFTER = timedelta(hours=1)

# What the next run of a job answers, and which jobs were let go of since a step began.
answers: dict[UUID, Callable[[JobContext], Result | None]] = {}
let_go: list[UUID] = []


def _perform(job: JobContext) -> Result | None:
    Group.objects.create(name=effect_of(job.id, job.claimed.fence))
    return answers[job.id](job)


def effect_of(job_id: UUID, fence: int) -> str:
    """The name of the row that a run writes."""
    return f"{job_id}:{fence}"


@handler("model.plain", max_attempts=3, backoff=BACKOFF)
def plain(job: JobContext, *, n: int) -> Result | None:
    """Transactional."""
    return _perform(job)


@handler("model.mail", max_attempts=2, backoff=BACKOFF, queue="mail")
def mail(job: JobContext, *, n: int) -> Result | None:
    """Transactional, in another queue."""
    return _perform(job)


@handler(
    "model.stubborn", max_attempts=2, backoff=BACKOFF, give_up_after=GIVE_UP_AFTER, detached=True
)
def stubborn(job: JobContext, *, n: int) -> Result | None:
    """Detached; gives up only when attempts and time are both used up."""
    with job.transaction():
        return _perform(job)


@plain.on_abandon
@mail.on_abandon
@stubborn.on_abandon
def note(job: JobContext) -> None:
    """Remember that the job was given up for good."""
    let_go.append(job.id)


KINDS: dict[str, Handler[...]] = {each.kind: each for each in (plain, mail, stubborn)}
