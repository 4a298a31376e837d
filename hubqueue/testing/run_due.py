"""Run what is due, on the test's connection, through the real lifecycle."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.db import connections

from hubqueue.ids import uuid7
from hubqueue.lifecycle import run as running
from hubqueue.lifecycle import workers
from hubqueue.lifecycle.claim import Lane, claim, claim_suspect
from hubqueue.lifecycle.context import JobContext, Watch
from hubqueue.lifecycle.database import alias
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.owed import Owed, pay
from hubqueue.lifecycle.settle import Settled
from hubqueue.models import Failure, Job
from hubqueue.payload import Signature
from hubqueue.policy import Backoff
from hubqueue.registry import Handler, registry
from hubqueue.results import Result
from hubqueue.states import State
from hubqueue.testing import nested
from hubqueue.testing.steal import steal_lease

LEASE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt that ran. ``state`` is the job's afterwards, None when the attempt lost its lease.

    ``code`` is the failure's, empty when there was none; ``error`` is what the handler raised, if it raised.
    """

    job_id: UUID
    kind: str
    attempt: int
    state: State | None
    code: str = ""
    error: BaseException | None = None

    @property
    def failed(self) -> bool:
        return bool(self.code) or self.state is None


@dataclass(frozen=True, slots=True)
class Report:
    """What ``run_due_jobs`` did, attempt by attempt, in order."""

    runs: list[Run] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def failures(self) -> list[Run]:
        """The attempts that did not succeed: raised, answered Retry or Dead, or lost their lease."""
        return [each for each in self.runs if each.failed]

    @property
    def settled(self) -> Counter[tuple[str, State]]:
        """How many attempts of a kind left their job in a state: ``report.settled["leads.score", State.DEAD]``."""
        return Counter((each.kind, each.state) for each in self.runs if each.state is not None)


def run_due_jobs(
    *,
    kinds: Iterable[Handler[...] | str] | None = None,
    queues: Iterable[str] | None = None,
    limit: int = 1000,
    raise_failures: bool = False,
) -> Report:
    """Run due jobs one by one until none is due, those included that the jobs themselves enqueue.

    A failing handler is recorded and retried as in production (``report.failures`` tells), its retry due
    after the whole backoff, without jitter. ``raise_failures`` raises what a handler raised, once it is
    recorded. Raises ``AssertionError`` when jobs are still due after ``limit`` attempts.
    """
    using = alias()
    known = _known(kinds)
    worker = _register(using)
    report = Report()
    try:
        while (claimed := _next(worker, known, queues, using)) is not None:
            run = _run(claimed, using)
            report.runs.append(run)
            if raise_failures and run.failed:
                raise run.error or AssertionError(f"{run.kind} failed: {run.code or 'lease_lost'}")
            if len(report) >= limit:
                _refuse_endless(known, queues, using, limit)
    finally:
        if nested.usable(using):
            workers.remove(worker, using=using)
    return report


def _known(kinds: Iterable[Handler[...] | str] | None) -> list[str]:
    if kinds is None:
        return registry.kinds()
    names: list[str] = []
    for each in kinds:
        names += [each.kind, *each.aliases] if isinstance(each, Handler) else [each]
    return names


def _register(using: str) -> UUID:
    """A worker row as a real worker has it, so that nobody takes the kit's jobs for orphans."""
    worker = uuid7()
    workers.register(
        workers.Registration(worker, "test kit", 0, [], [], solo=False, sessions_visible=False),
        lease=LEASE,
        using=using,
    )
    return worker


def _next(
    worker: UUID, kinds: list[str], queues: Iterable[str] | None, using: str
) -> Claimed | None:
    due = Job.objects.using(using).due().filter(kind__in=kinds)
    names = sorted(due.values_list("queue", flat=True).distinct()) if queues is None else [*queues]
    if not names:
        return None
    lanes = [Lane(name, 1) for name in names]
    found = claim(worker, lanes, [1] * len(lanes), 1, kinds, using=using)
    return found[0] if found else claim_suspect(worker, names, kinds, using=using)


def _refuse_endless(kinds: list[str], queues: Iterable[str] | None, using: str, limit: int) -> None:
    due = Job.objects.using(using).due().filter(kind__in=kinds)
    if queues is not None:
        due = due.filter(queue__in=[*queues])
    still = sorted(due.values_list("kind", flat=True).distinct())
    if still:
        raise AssertionError(
            f"{', '.join(still)} still due after {limit} attempts: does a job enqueue or repeat"
            " itself without a wait? Otherwise pass a higher limit."
        )


def _run(claimed: Claimed, using: str) -> Run:
    handler = registry.find(claimed.kind)
    assert handler is not None, f"no handler is registered for {claimed.kind}"
    raised: list[BaseException] = []
    inside = nested.is_nested(using)
    hooks_before = len(connections[using].run_on_commit)
    attempt = running.Attempt(
        claimed,
        _Unhurried(handler),
        using,
        Watch(),
        partial(_call, raised=raised, inside=inside, detached=handler.detached, using=using),
        nested=inside,
    )
    settled = _paid(running.run(attempt))
    if inside:
        nested.as_committed(using, hooks_before)
    if settled is None:
        _leave_to_the_thief(claimed, using)
    return Run(
        claimed.id,
        claimed.kind,
        claimed.attempts,
        None if settled is None else settled.state,
        _code(claimed, settled, using),
        raised[0] if raised else None,
    )


class _Whole(Backoff):
    """The longest wait the backoff allows, always: a retry is never due again in the same call by chance."""

    __slots__ = ()

    def wait(self, attempt: int) -> timedelta:
        return self.ceiling(attempt)


class _Unhurried:
    """A handler as it is, but for the jitter."""

    def __init__(self, handler: Handler[...]) -> None:
        self.function: Callable[..., Result | None] = handler.function
        self.signature: Signature = handler.signature
        self.detached = handler.detached
        self.pipeline = False  # runs by itself
        self.backoff: Backoff = _Whole(handler.backoff.base, handler.backoff.cap)
        self.give_up_after = handler.give_up_after
        self.abandon_hook: Callable[[JobContext], object] | None = handler.abandon_hook
        self.redrive_hook: Callable[[JobContext], object] | None = handler.redrive_hook
        self.timeout = handler.timeout


def _call(
    call: Callable[[], Result | None],
    *,
    raised: list[BaseException],
    inside: bool,
    detached: bool,
    using: str,
) -> Result | None:
    try:
        return nested.checked(call, detached=detached, using=using) if inside else call()
    except BaseException as error:
        raised.append(error)
        raise


def _paid(outcome: Settled | Owed | None) -> Settled | None:
    if isinstance(outcome, Owed):
        outcome = pay(outcome, patience=timedelta(seconds=5))
    assert not isinstance(outcome, Owed), "the job's row stayed locked by another connection"
    return outcome


def _leave_to_the_thief(claimed: Claimed, using: str) -> None:
    """A lease stolen inside the attempt's own transaction was rolled back with it; the thief exists all the same."""
    if Job.objects.using(using).running().filter(pk=claimed.id, fence=claimed.fence).exists():
        steal_lease(claimed.id)


def _code(claimed: Claimed, settled: Settled | None, using: str) -> str:
    mine = Failure.objects.using(using).filter(
        job=claimed.id, worker=claimed.claimed_by, started_at=claimed.claimed_at
    )
    found = mine.exclude(code="abandon_failed").values_list("code", flat=True).first()
    if found is None and settled is not None and settled.state is State.DEAD:
        found = Job.objects.using(using).values_list("error_code", flat=True).get(pk=claimed.id)
    return found or ""
