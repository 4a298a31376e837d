"""Rescue: what a worker that is gone held goes back to READY. Needs no leader and never makes a dead letter."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from uuid import UUID

from hubqueue.conf import conf
from hubqueue.errors import LeaseLost, Unsettled
from hubqueue.lifecycle import settle as verdicts
from hubqueue.lifecycle.database import connection, interval
from hubqueue.lifecycle.failure import Broken
from hubqueue.lifecycle.guard import Claimed, claimed_from
from hubqueue.lifecycle.orphans import terminate
from hubqueue.lifecycle.room import room
from hubqueue.lifecycle.settle import Settled, Verdict, settle
from hubqueue.lifecycle.sql import sql
from hubqueue.lifecycle.work import Work, abandon_of, exhausted
from hubqueue.models import Job, Worker
from hubqueue.policy import Backoff
from hubqueue.querysets import database_now
from hubqueue.signals import job_rescued
from hubqueue.states import State

WORKER_DIED = "worker_died"
SHORT = timedelta(milliseconds=500)
BACKOFF = Backoff()

FindWork = Callable[[str], Work | None]


def rescue(
    worker: UUID,
    *,
    cause: str,
    alone: bool,
    using: str,
    in_flight: Collection[UUID] | None = None,
    timed_out: Collection[UUID] = (),
    find_work: FindWork = lambda kind: None,
) -> list[Settled]:
    """Take back everything ``worker`` still holds.

    ``in_flight`` are the jobs it had started, None when nobody knows. These become suspects, unspent, unless
    the worker ran ``alone``: then the death spends the attempt. ``timed_out`` are those it was ended for.
    Rows that are locked just now, or that the server has no room to change, are left to the next sweep.
    """
    rescued = []
    now = database_now(using)
    held = Job.objects.using(using).filter(state=State.RUNNING, claimed_by=worker)
    for job in held.order_by("id").iterator(chunk_size=500):
        claimed = claimed_from(job)
        started = in_flight is None or job.id in in_flight
        work = find_work(job.kind)
        verdict = _verdict(
            claimed, work, started=started, alone=alone, timed_out=job.id in timed_out, now=now
        )
        try:
            with room():
                settled = settle(
                    claimed,
                    verdict,
                    using=using,
                    abandon=abandon_of(work, using=using),
                    patience=SHORT,
                )
        except (LeaseLost, Unsettled):
            continue
        rescued.append(settled)
        job_rescued.send_robust(
            sender=None,
            job_id=job.id,
            kind=job.kind,
            queue=job.queue,
            cause=cause,
            spent=verdict.spend,
        )
    return rescued


def _verdict(
    claimed: Claimed,
    work: Work | None,
    *,
    started: bool,
    alone: bool,
    timed_out: bool,
    now: datetime,
) -> Verdict:
    if timed_out:
        wait = _wait(claimed, work, now)
        return verdicts.rescue(Broken("timeout"), after=wait, spend=True, suspect=claimed.suspect)
    if not started:
        return verdicts.rescue(None, after=None, spend=False, suspect=claimed.suspect)
    if not alone:
        return verdicts.rescue(Broken(WORKER_DIED), after=None, spend=False, suspect=True)
    return verdicts.rescue(
        Broken(WORKER_DIED), after=_wait(claimed, work, now), spend=True, suspect=True
    )


def _wait(claimed: Claimed, work: Work | None, now: datetime) -> timedelta | None:
    """The backoff; none for a job that is out of attempts: whoever claims it next gives it up."""
    if exhausted(claimed, work, attempts=claimed.attempts, now=now):
        return None
    return (BACKOFF if work is None else work.backoff).wait(max(1, claimed.attempts))


@dataclass(slots=True)
class Sweep:
    """Looks for workers that are gone: lease passed, row missing, or no session left (seen twice).

    One object per supervisor: it remembers who had no session at the last look. ``apart`` is how long a
    session must be missing. ``calm`` is how long the server and our own session must have been up before
    anything is taken from anybody: after an outage the living renew first. ``quiet`` is how long the lease
    must not have been renewed for a missing session to mean anything: a child that cannot connect, because a
    handler holds the interpreter's lock, lives as long as its supervisor renews for it. ``may_take`` is
    asked after each look, which may have been held up by what held up everybody's renewals: then nothing is taken.
    """

    using: str
    apart: timedelta
    calm: timedelta
    find_work: FindWork = field(default=lambda kind: None)
    quiet: timedelta = timedelta(0)
    may_take: Callable[[], bool] = field(default=lambda: True)
    _missing_since: dict[UUID, tuple[float, datetime | None]] = field(default_factory=dict)

    def once(self) -> list[Settled]:
        """One look. Answers what was rescued."""
        suspected = self._suspected()
        if not self.may_take():
            return []
        now = monotonic()
        silent: dict[UUID, tuple[float, datetime | None]] = {}
        rescued: list[Settled] = []
        for worker, lease_passed, no_session, solo, lease, not_renewed in suspected:
            if lease_passed:
                terminate("end_transactions", {"worker": worker}, using=self.using)
                rescued += self._take(worker, "lease", solo)
            elif no_session:
                since, renewed = self._missing_since.get(worker, (now, lease))
                silent[worker] = (since if renewed == lease else now, lease)
                missing = timedelta(seconds=now - silent[worker][0])
                # Who has another LEASE than we is known to be silent only by watching.
                if missing >= (self.apart if not_renewed else max(self.apart, self.quiet)):
                    rescued += self._take(worker, "session", solo)
        self._missing_since = silent
        return rescued

    def _suspected(self) -> list[tuple[UUID, bool, bool, bool, datetime | None, bool]]:
        with connection(self.using).cursor() as cursor:
            cursor.execute(
                sql("gone_workers"),
                {
                    "calm": interval(self.calm),
                    "lease": interval(conf().lease),
                    "quiet": interval(self.quiet),
                },
            )
            return list(cursor.fetchall())

    def _take(self, worker: UUID, cause: str, solo: bool) -> list[Settled]:
        taken = rescue(worker, cause=cause, alone=solo, using=self.using, find_work=self.find_work)
        left = Job.objects.using(self.using).filter(state=State.RUNNING, claimed_by=worker).exists()
        if not left:
            Worker.objects.using(self.using).filter(pk=worker).delete()
        return taken
