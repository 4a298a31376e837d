"""Rescue: what a worker that is gone held goes back to READY. Needs no leader and never makes a dead letter."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from uuid import UUID

from hubqueue.errors import LeaseLost, RowBusy
from hubqueue.lifecycle import settle as verdicts
from hubqueue.lifecycle.database import connection
from hubqueue.lifecycle.failure import Broken
from hubqueue.lifecycle.guard import Claimed, claimed_from
from hubqueue.lifecycle.settle import Abandon, Settled, Verdict, settle
from hubqueue.lifecycle.sql import sql
from hubqueue.models import Job, Worker
from hubqueue.policy import Backoff
from hubqueue.signals import job_rescued
from hubqueue.states import State

WORKER_DIED = "worker_died"
SHORT = timedelta(milliseconds=500)
BACKOFF = Backoff()

FindAbandon = Callable[[str], Abandon | None]


def rescue(
    worker: UUID,
    *,
    cause: str,
    alone: bool,
    using: str,
    in_flight: Collection[UUID] | None = None,
    timed_out: Collection[UUID] = (),
    find_abandon: FindAbandon = lambda kind: None,
) -> list[Settled]:
    """Take back everything ``worker`` still holds.

    ``in_flight`` are the jobs it had started, None when nobody knows. These become suspects, unspent, unless
    the worker ran ``alone``: then the death spends the attempt. ``timed_out`` are those it was ended for.
    Rows that are locked just now are left to the next sweep.
    """
    rescued = []
    held = Job.objects.using(using).filter(state=State.RUNNING, claimed_by=worker)
    for job in held.order_by("id").iterator(chunk_size=500):
        claimed = claimed_from(job)
        started = in_flight is None or job.id in in_flight
        verdict = _verdict(claimed, started=started, alone=alone, timed_out=job.id in timed_out)
        try:
            settled = settle(
                claimed, verdict, using=using, abandon=find_abandon(job.kind), patience=SHORT
            )
        except (LeaseLost, RowBusy):
            continue
        rescued.append(settled)
        job_rescued.send_robust(
            sender=None, kind=job.kind, queue=job.queue, cause=cause, spent=verdict.spend
        )
    return rescued


def _verdict(claimed: Claimed, *, started: bool, alone: bool, timed_out: bool) -> Verdict:
    if timed_out:
        wait = BACKOFF.wait(max(1, claimed.attempts))
        return verdicts.rescue(Broken("timeout"), after=wait, spend=True, suspect=claimed.suspect)
    if not started:
        return verdicts.rescue(None, after=None, spend=False, suspect=claimed.suspect)
    if not alone:
        return verdicts.rescue(Broken(WORKER_DIED), after=None, spend=False, suspect=True)
    wait = BACKOFF.wait(max(1, claimed.attempts))
    return verdicts.rescue(Broken(WORKER_DIED), after=wait, spend=True, suspect=True)


@dataclass(slots=True)
class Sweep:
    """Looks for workers that are gone: lease passed, row missing, or no session left (seen twice).

    One object per supervisor: it remembers who had no session at the last look. ``apart`` is how long the
    server, our own session, and a missing session must have lasted before anything is taken from anybody.
    """

    using: str
    apart: timedelta
    find_abandon: FindAbandon = field(default=lambda kind: None)
    _missing_since: dict[UUID, float] = field(default_factory=dict)

    def once(self) -> list[Settled]:
        """One look. Answers what was rescued."""
        now = monotonic()
        silent: dict[UUID, float] = {}
        rescued: list[Settled] = []
        for worker, lease_passed, no_session, solo in self._suspected():
            if lease_passed:
                rescued += self._take(worker, "lease", solo)
            elif no_session:
                silent[worker] = self._missing_since.get(worker, now)
                if now - silent[worker] >= self.apart.total_seconds():
                    rescued += self._take(worker, "session", solo)
        self._missing_since = silent
        return rescued

    def _suspected(self) -> list[tuple[UUID, bool, bool, bool]]:
        with connection(self.using).cursor() as cursor:
            cursor.execute(sql("gone_workers"), {"apart": self.apart})
            return list(cursor.fetchall())

    def _take(self, worker: UUID, cause: str, solo: bool) -> list[Settled]:
        taken = rescue(
            worker, cause=cause, alone=solo, using=self.using, find_abandon=self.find_abandon
        )
        left = Job.objects.using(self.using).filter(state=State.RUNNING, claimed_by=worker).exists()
        if not left:
            Worker.objects.using(self.using).filter(pk=worker).delete()
        return taken
