"""Groups: the registrations that become one lead of a rule."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote
from uuid import UUID

from leads.models import Event, Grouping


@dataclass(frozen=True, slots=True)
class Member:
    """A registration as a sink sees it."""

    id: UUID
    changed_xid: int
    state: str
    name: str
    email: str
    phone: str
    company_name: str
    partner_id: str
    sale_order_id: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Group:
    """What a sink is given: one lead's registrations.

    ``new`` are the members the lead does not have yet, at most one page of them; ``total`` counts all,
    the new ones included. ``members()`` walks all of them lazily, the new ones last. ``lead_id`` is
    None until a sink has made the lead.
    """

    rule_id: UUID
    rule_name: str
    event: Event
    grouping: Grouping
    key: str
    lead_id: str | None
    new: tuple[Member, ...]
    total: int
    earlier: Callable[[], Iterator[Member]]

    def members(self) -> Iterator[Member]:
        """Every member, read as it is asked for: no more than a thousand are in memory at once."""
        new = {member.id for member in self.new}
        for member in self.earlier():
            if member.id not in new:
                yield member
        yield from self.new

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt to create this lead; ASCII, made of the rule and the group's key."""
        return f"{self.rule_id}:{quote(self.key, safe=':')}"


@dataclass(slots=True)
class Draft:
    """The new members of one group, before its provenance is known."""

    grouping: Grouping
    key: str
    new: list[Member]


def group(members: Iterable[Member], event: Event) -> list[Draft]:
    """The members by group, sorted by key (which is also the order in which rows are locked).

    Per sale order where there is one; else per day of the event's own calendar.
    """
    drafts: dict[str, Draft] = {}
    zone = event.zone
    scope = "" if event.tenant_id is None else f"{event.tenant_id}:"
    for member in members:
        if member.sale_order_id:
            grouping, key = Grouping.PER_ORDER, f"order:{scope}{member.sale_order_id}"
        else:
            day = member.created_at.astimezone(zone).date()
            grouping, key = Grouping.PER_EVENT_DAY, f"day:{event.pk}:{day.isoformat()}"
        drafts.setdefault(key, Draft(grouping, key, [])).new.append(member)
    return [drafts[key] for key in sorted(drafts)]
