"""Storing what a walk made: provenance and membership. Each step is one statement for a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connections, router

from leads.errors import SinkAnswerRefused
from leads.grouping import Draft, Group, Member
from leads.matching import FIELDS, Matcher
from leads.models import Event, LeadProvenance, LeadProvenanceRegistration

READ_AT_ONCE = 1000
LEAD_ID_LENGTH = 64

# New rows and standing ones alike are locked in the order of their keys: two walks cannot deadlock here.
_OPEN = """
INSERT INTO leads_leadprovenance (rule_id, grouping, group_key)
SELECT %(rule)s, grouping, key
FROM unnest(%(groupings)s::text[], %(keys)s::text[]) WITH ORDINALITY AS given (grouping, key, place)
ORDER BY place
ON CONFLICT (rule_id, group_key) DO UPDATE SET updated_at = hubqueue_now()
RETURNING group_key, id, lead_id, members
"""

_JOIN = """
INSERT INTO leads_leadprovenanceregistration (provenance_id, registration_id, rule_id)
SELECT provenance_id, registration_id, %(rule)s
FROM unnest(%(provenances)s::bigint[], %(registrations)s::uuid[])
    AS given (provenance_id, registration_id)
ON CONFLICT DO NOTHING
RETURNING provenance_id
"""

_GROW = """
UPDATE leads_leadprovenance AS provenance SET
    lead_id = coalesce(provenance.lead_id, given.lead_id),
    growths = provenance.growths + (provenance.lead_id IS NOT NULL AND given.joined > 0)::int,
    members = provenance.members + given.joined, updated_at = hubqueue_now()
FROM unnest(%(ids)s::bigint[], %(leads)s::text[], %(counts)s::int[]) AS given (id, lead_id, joined)
WHERE provenance.id = given.id
"""


@dataclass(frozen=True, slots=True)
class Opened:
    """A group with its provenance row, which this transaction has locked."""

    provenance_id: int
    group: Group


def open_groups(event: Event, matcher: Matcher, drafts: Sequence[Draft]) -> list[Opened]:
    """Get or create and lock the provenance rows of these groups, which come sorted by key."""
    parameters: dict[str, Any] = {
        "rule": matcher.rule_id,
        "groupings": [draft.grouping.value for draft in drafts],
        "keys": [draft.key for draft in drafts],
    }
    with connections[_alias()].cursor() as cursor:
        cursor.execute(_OPEN, parameters)
        rows = {key: rest for key, *rest in cursor.fetchall()}
    opened = []
    for draft in drafts:
        provenance_id, lead_id, members = rows[draft.key]
        group = Group(
            rule_id=matcher.rule_id,
            rule_name=matcher.rule_name,
            event=event,
            grouping=draft.grouping,
            key=draft.key,
            lead_id=lead_id,
            new=tuple(draft.new),
            total=members + len(draft.new),
            earlier=partial(_members, provenance_id),
        )
        opened.append(Opened(provenance_id, group))
    return opened


def close_groups(opened: Sequence[Opened], lead_ids: Sequence[str]) -> None:
    """Store the lead of each group, and its new members."""
    for lead_id in lead_ids:
        check_lead_id(lead_id)
    pairs = [(each.provenance_id, member.id) for each in opened for member in each.group.new]
    with connections[_alias()].cursor() as cursor:
        cursor.execute(
            _JOIN,
            {
                "rule": opened[0].group.rule_id,
                "provenances": [provenance for provenance, _ in pairs],
                "registrations": [registration for _, registration in pairs],
            },
        )
        joined: dict[int, int] = {}
        for (provenance_id,) in cursor.fetchall():
            joined[provenance_id] = joined.get(provenance_id, 0) + 1
        cursor.execute(
            _GROW,
            {
                "ids": [each.provenance_id for each in opened],
                "leads": list(lead_ids),
                "counts": [joined.get(each.provenance_id, 0) for each in opened],
            },
        )


def check_lead_id(lead_id: object) -> None:
    """Refuse what cannot be stored as the id of a lead."""
    if (
        not isinstance(lead_id, str)
        or not 0 < len(lead_id) <= LEAD_ID_LENGTH
        or not lead_id.isprintable()
    ):
        raise SinkAnswerRefused(f"a lead id has 1 to {LEAD_ID_LENGTH} printable characters")


def _members(provenance_id: int) -> Iterator[Member]:
    after = UUID(int=0)
    names = [f"registration__{name}" for name in FIELDS]
    while True:
        rows = list(
            LeadProvenanceRegistration.objects.filter(
                provenance_id=provenance_id, registration_id__gt=after
            )
            .order_by("registration_id")
            .values_list(*names)[:READ_AT_ONCE]
        )
        for row in rows:
            yield Member(*row)
        if len(rows) < READ_AT_ONCE:
            return
        after = rows[-1][0]


def _alias() -> str:
    return router.db_for_write(LeadProvenance)
