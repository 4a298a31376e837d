"""The pass: one due request after the other, until nothing is due."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Protocol
from uuid import UUID

from leads import leasing, sinks
from leads.arming import adopt_arms
from leads.conf import conf
from leads.errors import WalkLeaseLost
from leads.leasing import Lease
from leads.signals import pass_ended
from leads.sinks.base import Sink
from leads.summary import Summary
from leads.walk import Walk


class Steps(Protocol):
    """What a pass needs of the job it runs in."""

    @property
    def id(self) -> UUID: ...

    def checkpoint(self) -> None: ...

    def progress(self, share: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """``drained``: nothing more was due when the pass ended."""

    summary: Summary
    drained: bool


def run_pass(job: Steps, *, sink: Sink | None = None) -> Outcome:
    """Claim and walk requests until nothing is due, the limit was claimed or the time is spent.

    A walk that loses its lease ends alone. ``checkpoint`` ends the pass, its request is free at once.
    """
    total = Summary()
    using = sink or sinks.current()
    limit = conf().event_lead_cron_limit
    spent = _spent()
    drained = False
    adopt_arms()
    try:
        while total.claimed < limit and not spent():
            job.checkpoint()
            lease = leasing.claim(by=f"leads.generate {job.id}")
            if lease is None:
                drained = True
                break
            job.progress(total.claimed / limit)
            total.claimed += 1
            _walk(lease, using, job, spent, total)
    finally:
        pass_ended.send_robust(sender=None, kind="leads.generate", **total.numbers())
    return Outcome(total, drained)


def run_one(job: Steps, lease: Lease, *, sink: Sink | None = None) -> Outcome:
    """Walk one request that an officer leased."""
    total = Summary(claimed=1)
    spent = _spent()
    try:
        _walk(lease, sink or sinks.current(), job, spent, total)
    finally:
        pass_ended.send_robust(sender=None, kind="leads.run", **total.numbers())
    return Outcome(total, drained=not spent())


def _walk(lease: Lease, sink: Sink, job: Steps, spent: Callable[[], bool], total: Summary) -> None:
    walk = Walk(lease, sink, job.checkpoint, spent)
    try:
        walk.run()
    except WalkLeaseLost:
        walk.summary.lost += 1
    finally:
        total.add(walk.summary)


def _spent() -> Callable[[], bool]:
    until = monotonic() + conf().pass_budget.total_seconds()
    return lambda: monotonic() >= until
