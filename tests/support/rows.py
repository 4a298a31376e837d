"""Rows and attempts for tests of the lifecycle."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import connection

from hubqueue.lifecycle import run as running
from hubqueue.lifecycle.claim import Lane, claim
from hubqueue.lifecycle.context import Watch
from hubqueue.lifecycle.guard import Claimed, claimed_from
from hubqueue.lifecycle.owed import Owed
from hubqueue.lifecycle.settle import Settled
from hubqueue.models import Job
from hubqueue.querysets import database_now
from hubqueue.registry import registry
from hubqueue.states import FINISHED, State
from tests.support.handlers import scripted

KIND = scripted.kind


def now() -> datetime:
    """The queue's clock."""
    return database_now("default")


def make_job(state: State = State.READY, **values: Any) -> Job:
    """A row in ``state``, as consistent as its constraints ask for."""
    moment = now()
    fitting: dict[str, Any] = {
        "kind": KIND,
        "queue": "default",
        "payload": {},
        "state": state,
        "run_at": moment - timedelta(seconds=1),
        "max_attempts": 3,
        "created_at": moment - timedelta(seconds=1),
    }
    if state == State.RUNNING:
        fitting |= {"claimed_by": uuid4(), "claimed_at": moment, "attempts": 1, "fence": 7}
    if state in FINISHED:
        fitting |= {"finished_at": moment}
    return Job.objects.create(**(fitting | values))


def fill(count: int, tenant: str | None = None, **values: Any) -> None:
    """Due jobs, inserted by one statement."""
    row = {"queue": "default", "priority": 0, "kind": KIND, "age": 1, **values}
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO hubqueue_job (id, kind, queue, priority, tenant_id, payload, state, run_at, attempts,
                max_attempts, fence, suspect, meta, created_at)
            SELECT gen_random_uuid(), %(kind)s, %(queue)s, %(priority)s, %(tenant)s, '{}', 'READY',
                hubqueue_now() - %(age)s * interval '1 second' + n * interval '1 microsecond',
                0, 3, 0, false, '{}', hubqueue_now()
            FROM generate_series(1, %(count)s) AS n
            """,
            {**row, "count": count, "tenant": tenant},
        )


def held(job: Job) -> Claimed:
    """The job as the attempt that holds its present fence sees it."""
    job.refresh_from_db()
    return claimed_from(job)


def image(job_id: UUID) -> dict[str, Any]:
    """Every column of the row."""
    return Job.objects.values().get(pk=job_id)


def claim_all(
    room: int = 100,
    *,
    queues: Sequence[str] = ("default",),
    kinds: Sequence[str] | None = None,
    worker: UUID | None = None,
) -> list[Claimed]:
    """Claim up to ``room`` due jobs of known kinds."""
    lanes = [Lane(name, room) for name in queues]
    return claim(
        worker or uuid4(),
        lanes,
        [room] * len(lanes),
        room,
        registry.kinds() if kinds is None else kinds,
        using="default",
    )


def claim_one(**options: Any) -> Claimed:
    """Claim the one job that is due."""
    found = claim_all(2, **options)
    assert len(found) == 1, f"expected one due job, found {len(found)}"
    return found[0]


def attempt_of(
    claimed: Claimed, *, call: Callable[..., Any] = lambda f: f(), watch: Watch | None = None
) -> running.Attempt:
    """The attempt a worker would run."""
    handler = registry.find(claimed.kind)
    assert handler is not None
    return running.Attempt(claimed, handler, "default", watch or Watch(), call)


def run_one(**options: Any) -> Settled | Owed | None:
    """Claim the one due job and run it."""
    return running.run(attempt_of(claim_one(**options)))
