"""The walk over one request: rule by rule, page by page, each page committed before the next."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError, router, transaction

from hubqueue.errors import StopRequested
from leads import leasing, marks
from leads.conf import conf
from leads.errors import STOPPERS, SinkError, WalkLeaseLost
from leads.grouping import Draft, Group, Member, group
from leads.leasing import Lease
from leads.marks import Mark
from leads.matching import Matcher, matchers, page
from leads.models import Event, LeadRequest
from leads.parked_handler import tell_later
from leads.record import Opened, check_lead_id, close_groups, open_groups
from leads.sinks.base import Sink
from leads.summary import Summary

RENEW_AT_LEAST = 60.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a walk failed: safe to store and to show."""

    code: str
    reason: str


class _Stopped(Exception):
    """The walk cannot go on now."""


@dataclass(slots=True)
class Walk:
    """One walk under a lease.

    ``checkpoint`` raises when the job is to stop; ``spent`` answers True when the pass has used its
    time: the walk then ends between two pages and its request stays due.
    """

    lease: Lease
    sink: Sink
    checkpoint: Callable[[], None]
    spent: Callable[[], bool]
    summary: Summary = field(default_factory=Summary)
    refusals: list[Refusal] = field(default_factory=list)
    drained: list[Matcher] = field(default_factory=list)
    rule_number: int = 0
    rule_count: int = 0
    seen: int = 0
    renewed: float = field(default_factory=monotonic)

    def run(self) -> Summary:
        """Walk and finish. Raises ``WalkLeaseLost``, and what ``checkpoint`` raises (the lease is freed)."""
        try:
            ended = self._rules()
        except _Stopped:
            ended = True
        except StopRequested:
            leasing.let_go(self.lease, self.progress())
            raise
        except Exception as raised:
            if _is_stop(raised):
                raise
            self.refusals.append(_safe(raised))
            ended = True
        self._end(ended)
        return self.summary

    def progress(self) -> dict[str, Any]:
        """How far the walk is, for people to read."""
        return {
            "rule": self.rule_number,
            "rules": self.rule_count,
            **self.summary.numbers(),
            "refused": len(self.refusals),
        }

    def _rules(self) -> bool:
        """Walk every rule; False when the time was spent before the end."""
        clock = self._clock()
        self.seen = clock.oldest
        event = Event.objects.get(pk=self.lease.event_id)
        rules = matchers(event, clock)
        self.rule_count = self.summary.rules = len(rules)
        for self.rule_number, matcher in enumerate(rules, start=1):
            before = len(self.refusals)
            if not self._drain(event, matcher):
                return False
            if len(self.refusals) == before:
                self.drained.append(matcher)
        return True

    def _clock(self) -> marks.Clock:
        """The count of transactions, once no registration of the event is ahead of it."""
        clock = marks.read_clock(self.lease.event_id)
        if clock.strange:
            limit = conf().event_lead_batch
            while marks.restamp(self.lease.event_id, limit):
                self.checkpoint()
                self._fence()
            clock = marks.read_clock(self.lease.event_id)
        return clock

    def _drain(self, event: Event, matcher: Matcher) -> bool:
        """Take every page of a rule; False when the time was spent before the end."""
        after: tuple[int, UUID] | None = None
        limit = conf().event_lead_batch
        while True:
            self.checkpoint()
            if after is not None and self.spent():
                return False
            if monotonic() - self.renewed > RENEW_AT_LEAST:
                self._fence()
            members = self._page(event, matcher, after, limit)
            if len(members) < limit:
                return True
            after = members[-1].changed_xid, members[-1].id

    def _page(
        self, event: Event, matcher: Matcher, after: tuple[int, UUID] | None, limit: int
    ) -> list[Member]:
        if not self.sink.inside_database:
            return self._page_outside(event, matcher, after, limit)
        # Read before the fence is locked: most walks find nothing. Nobody else can have taken these
        # registrations when the fence then holds.
        members = page(event.pk, matcher, after=after, limit=limit)
        if not members:
            return members
        drafts = group(members, event)
        self.summary.matched += len(members)
        try:
            self._together(event, matcher, drafts)
        except Exception as raised:
            if _is_stop(raised):
                raise
            for draft in drafts:
                self._alone(event, matcher, draft)
        return members

    def _together(self, event: Event, matcher: Matcher, drafts: list[Draft]) -> None:
        """Provenance, leads and membership of several groups, in one transaction."""
        with transaction.atomic(using=_alias()):
            self._fence()
            created, grown = self._inside(event, matcher, drafts)
        self._count(created=created, grown=grown)

    def _inside(self, event: Event, matcher: Matcher, drafts: list[Draft]) -> tuple[int, int]:
        opened = open_groups(event, matcher, drafts)
        fresh = [each for each in opened if each.group.lead_id is None]
        standing = [each for each in opened if each.group.lead_id is not None]
        made = self.sink.create_leads([each.group for each in fresh]) if fresh else []
        if standing:
            self.sink.update_leads([each.group for each in standing])
        close_groups(fresh + standing, made + [str(each.group.lead_id) for each in standing])
        return len(fresh), len(standing)

    def _alone(self, event: Event, matcher: Matcher, draft: Draft) -> None:
        """One group by itself, after its page failed."""
        try:
            self._together(event, matcher, [draft])
        except Exception as raised:
            if _is_stop(raised):
                raise
            self._refuse(raised)

    def _page_outside(
        self, event: Event, matcher: Matcher, after: tuple[int, UUID] | None, limit: int
    ) -> list[Member]:
        members = page(event.pk, matcher, after=after, limit=limit)
        if not members:
            return members
        self.summary.matched += len(members)
        with transaction.atomic(using=_alias()):
            self._fence()
            opened = open_groups(event, matcher, group(members, event))
        for each in opened:
            self.checkpoint()
            self._outside(each)
        return members

    def _outside(self, opened: Opened) -> None:
        """One group: the sink with no transaction open, then what it made, under the fence."""
        given = opened.group
        with transaction.atomic(using=_alias()):
            self._fence()
        try:
            lead_id = self._send(given)
        except Exception as raised:
            if _is_stop(raised):
                raise
            self._refuse(raised)
            return
        with transaction.atomic(using=_alias()):
            self._fence()
            close_groups([opened], [lead_id])
        self._count(created=given.lead_id is None, grown=given.lead_id is not None)

    def _send(self, given: Group) -> str:
        if given.lead_id is None:
            made = self.sink.create_lead(given)
            check_lead_id(made)
            return made
        self.sink.update_lead(given.lead_id, given)
        return given.lead_id

    def _count(self, *, created: int, grown: int) -> None:
        self.summary.groups_created += created
        self.summary.leads_created += created
        self.summary.groups_grown += grown
        self.summary.leads_updated += grown

    def _fence(self) -> None:
        leasing.renew(self.lease, self.progress())
        self.renewed = monotonic()

    def _refuse(self, raised: Exception) -> None:
        """Remember why; stop the walk when going on is no use."""
        self.refusals.append(_safe(raised))
        if isinstance(raised, STOPPERS) or len(self.refusals) >= conf().event_lead_refusals:
            raise _Stopped from raised

    def _end(self, ended: bool) -> None:
        made = [Mark(each.rule_id, each.fingerprint, self.seen) for each in self.drained]
        if self.refusals:
            self._park(made)
            self.summary.parked += 1
        elif not ended:
            leasing.let_go(self.lease, self.progress(), made)
        else:
            looked = self.summary.matched == 0
            if leasing.finish(self.lease, self.progress(), made, looked=looked):
                self.summary.completed += 1

    def _park(self, made: list[Mark]) -> None:
        """End loudly; the first failure in a row is told to officers, unless a walk gets through in time."""
        first = self.refusals[0]
        said = {"code": first.code, "reason": first.reason}
        if self.lease.failing:
            leasing.fail(self.lease, self.progress(), made, **said)
            return
        with transaction.atomic(using=_alias()):
            since = leasing.fail(self.lease, self.progress(), made, **said)
            tell_later(self.lease.id, since)


def _is_stop(raised: Exception) -> bool:
    """Not about a group: the lease is lost, the job is to stop, or the database is gone."""
    if isinstance(raised, (WalkLeaseLost, StopRequested, InterfaceError)):
        return True
    if isinstance(raised, OperationalError):
        sqlstate = getattr(raised.__cause__, "sqlstate", None)
        return sqlstate is None or sqlstate[:2] in {"08", "57"}
    return False


def _safe(raised: Exception) -> Refusal:
    if isinstance(raised, SinkError):
        return Refusal(raised.code, raised.reason)
    sqlstate = getattr(raised.__cause__, "sqlstate", None)
    name = type(raised).__name__
    return Refusal("leads.failed", f"{name} {sqlstate}" if sqlstate else name)


def _alias() -> str:
    return router.db_for_write(LeadRequest)
