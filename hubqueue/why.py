"""Why is this job not running? Every reason that holds now, in words an officer understands."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from hubqueue.aside import steadily
from hubqueue.lifecycle.database import alias
from hubqueue.models import Job, Pause, Worker
from hubqueue.querysets import database_now
from hubqueue.states import State

MOST_AHEAD = 1000


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason: a stable word and a sentence."""

    code: str
    sentence: str


def why(job_id: UUID) -> list[Reason]:
    """The reasons why the job does not run at this moment, the weightiest first; never empty.

    A job that runs says so. A few bounded reads, whatever the backlog. An unknown id is a reason too.
    """
    job = Job.objects.using(alias()).defer("payload", "result", "meta").filter(pk=job_id).first()
    if job is None:
        return [Reason("unknown_job", f"There is no job {job_id}.")]
    return reasons(job)


def reasons(job: Job) -> list[Reason]:
    """The same for a row that was read already."""
    using = alias()
    now = database_now(using)
    match State(job.state):
        case State.RUNNING:
            found = list(_running(job, now, using))
        case State.PARKED:
            found = list(_parked(job))
        case State.READY:
            found = list(_ready(job, now, using))
        case State.DEAD:
            found = [
                Reason(
                    "dead",
                    f"It was given up with the code {job.error_code or 'none'}. Redrive or dismiss it.",
                )
            ]
        case _ as finished:
            found = [Reason("finished", f"It is finished: {finished.lower()}.")]
    if job.rerun_at is not None:
        found.append(
            Reason(
                "wake_up_pending",
                f"Another request with its key came in: it runs once more, not before {_at(job.rerun_at)}.",
            )
        )
    return found


def _running(job: Job, now: datetime, using: str) -> Iterator[Reason]:
    assert job.claimed_by is not None
    worker = Worker.objects.using(using).filter(pk=job.claimed_by).first()
    if job.stop_requested:
        yield Reason(
            "stop_requested",
            f"It runs, and was asked to stop ({job.stop_requested}). It ends at its next checkpoint.",
        )
    if worker is None:
        yield Reason("worker_missing", "Its worker is gone. A living worker takes it back shortly.")
    elif worker.lease_until <= now:
        yield Reason(
            "lease_passed",
            f"The lease of its worker ({worker}) passed {_span(now - worker.lease_until)} ago."
            " A living worker takes it back shortly.",
        )
    else:
        yield Reason("running", f"It is running on {worker}.")


def _parked(job: Job) -> Iterator[Reason]:
    reason = f": {job.park_reason}" if job.park_reason else "."
    yield Reason("parked", f"It was set aside until somebody releases it{reason}")


def _ready(job: Job, now: datetime, using: str) -> Iterator[Reason]:
    yield from _paused(job, using)
    waits = job.run_at > now
    if waits and job.attempts:
        yield Reason(
            "waiting_for_retry",
            f"Attempt {job.attempts} of {job.max_attempts} failed ({job.error_code or 'no code'})."
            f" It is tried again in {_span(job.run_at - now)}, at {_at(job.run_at)}.",
        )
    elif waits:
        yield Reason(
            "scheduled",
            f"It is scheduled for {_at(job.run_at)}, in {_span(job.run_at - now)}.",
        )
    unserved = list(_unserved(job, using))
    yield from unserved
    if job.suspect:
        yield Reason(
            "suspect",
            "It was running when a worker died. It runs next alone, in a child that runs nothing else.",
        )
    elif not waits:
        yield _turn(job, using)


def _paused(job: Job, using: str) -> Iterator[Reason]:
    about = Q(scope=Pause.Scope.QUEUE, value=job.queue) | Q(scope=Pause.Scope.KIND, value=job.kind)
    if job.tenant_id is not None:
        about |= Q(scope=Pause.Scope.TENANT, value=job.tenant_id)
    for pause in Pause.objects.using(using).in_force().filter(about).order_by("scope"):
        end = "until somebody resumes it" if pause.until is None else f"until {_at(pause.until)}"
        yield Reason(
            "paused",
            f"The {pause.scope} {pause.value} is paused by {pause.paused_by} {end}: {pause.reason}",
        )


def _unserved(job: Job, using: str) -> Iterator[Reason]:
    alive = list(Worker.objects.using(using).alive().values_list("queues", "kinds"))
    if not alive:
        yield Reason("no_worker", "No worker is alive. Start one: manage.py runworker.")
        return
    serving = [kinds for queues, kinds in alive if job.queue in queues]
    if not serving:
        yield Reason("queue_not_served", f"No living worker serves the queue {job.queue}.")
    known = serving or [kinds for _, kinds in alive]
    if not any(job.kind in kinds for kinds in known):
        yield Reason(
            "unknown_kind",
            f"No living worker there knows the kind {job.kind}: its code is not deployed, or it was removed.",
        )


def _turn(job: Job, using: str) -> Reason:
    ahead = ahead_of(job, using)
    if not ahead:
        return Reason(
            "next", "It is due and first in its queue: it starts as soon as a worker has room."
        )
    number = f"more than {MOST_AHEAD:,}" if ahead > MOST_AHEAD else str(ahead)
    return Reason(
        "waits_its_turn",
        f"It is due and waits its turn: {number} due {'job is' if ahead == 1 else 'jobs are'}"
        f" more urgent or older in the queue {job.queue}. Tenants take turns, so it may start sooner.",
    )


def ahead_of(job: Job, using: str) -> int:
    """How many due jobs of its queue are more urgent or older; ``MOST_AHEAD + 1`` when there are more."""
    rivals = Job.objects.using(using).due().filter(queue=job.queue, suspect=False)
    older = Q(priority=job.priority, run_at__lte=job.run_at) & (
        Q(run_at__lt=job.run_at) | Q(run_at=job.run_at, id__lt=job.pk)
    )
    count = 0
    with steadily(using):
        for part in (older, Q(priority__lt=job.priority)):
            some = rivals.filter(part).order_by("queue", "priority", "run_at")
            count += len(some.values_list("priority", flat=True)[: MOST_AHEAD + 1 - count])
            if count > MOST_AHEAD:
                break
    return count


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def _span(span: timedelta) -> str:
    seconds = max(0, round(span.total_seconds()))
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = round(seconds / size)
            return f"{number} {word}{'' if number == 1 else 's'}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"
