"""Which rules apply to an event, and which of its registrations a rule has not taken yet."""

import hashlib
import json
from dataclasses import dataclass
from uuid import UUID

from django.db import connections, router
from django.db.models import BooleanField, Exists, OuterRef
from django.db.models.expressions import RawSQL

from leads.grouping import Member
from leads.marks import Clock
from leads.models import (
    Event,
    LeadRule,
    Registration,
    RegistrationAnswer,
)
from leads.predicates import Axis, Predicate, parse

FIELDS = (
    "id", "changed_xid", "state", "name", "email", "phone", "company_name", "partner_id",
    "sale_order_id", "created_at",
)  # fmt: skip


_BEHIND = "(leads_registration.changed_xid, leads_registration.id) > (%s, %s)"
# OFFSET 0 keeps it a probe of one index per row. As a join the planner would rather read the whole
# provenance of the rule into a hash, once for every page.
_NOT_TAKEN = """NOT EXISTS (
    SELECT FROM leads_leadprovenanceregistration AS taken
    WHERE taken.registration_id = leads_registration.id AND taken.rule_id = %s OFFSET 0)"""


# One statement for everything that is to be known of the rules of an event. As text: the driver reads
# json into objects or leaves it, as Django has set up the connection.
_RULES = """
SELECT rule.id, rule.name, rule.on_done AND NOT rule.on_create AND NOT rule.on_confirm,
    coalesce((
        SELECT jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
            'axis', axis, 'question_id', question_id, 'values', "values")))
        FROM leads_leadrulepredicate AS predicate WHERE predicate.rule_id = rule.id
    ), '[]')::text,
    coalesce(mark.fingerprint, ''), coalesce(mark.seen_xid, 0), coalesce(mark.xmin::text::bigint, 0)
FROM leads_leadrule AS rule
LEFT JOIN leads_walkmark AS mark ON mark.rule_id = rule.id AND mark.event_id = %(event)s
WHERE rule.active AND (rule.event_id IS NULL OR rule.event_id = %(event)s)
ORDER BY rule.id
"""


@dataclass(frozen=True, slots=True)
class Rule:
    """An active rule as stored, with its mark on one event: an empty fingerprint where there is none."""

    id: UUID
    name: str
    done_only: bool
    predicates: str
    marked: str
    seen: int
    written: int


@dataclass(frozen=True, slots=True)
class Matcher:
    """One rule as it applies to one event: what is left to ask is the answers.

    ``since`` is the number of the oldest transaction whose registrations the walk must look at.
    """

    rule_id: UUID
    rule_name: str
    done_only: bool
    answers: tuple[Predicate, ...]
    fingerprint: str
    since: int


def matchers(event: Event, clock: Clock) -> list[Matcher]:
    """The active rules whose scope and event-level conditions the event fulfils, in id order."""
    with connections[router.db_for_read(LeadRule)].cursor() as cursor:
        cursor.execute(_RULES, {"event": event.pk})
        rules = [Rule(*row) for row in cursor.fetchall()]
    found = []
    for rule in rules:
        predicates = [parse(each) for each in json.loads(rule.predicates)]
        if all(_holds(each, event) for each in predicates if each.axis is not Axis.QUESTION_ANSWER):
            fingerprint = _fingerprint(rule, predicates, event)
            fits = rule.marked == fingerprint and clock.believes(rule.seen, rule.written)
            found.append(
                Matcher(
                    rule.id,
                    rule.name,
                    rule.done_only,
                    tuple(p for p in predicates if p.axis is Axis.QUESTION_ANSWER),
                    fingerprint,
                    rule.seen if fits else 0,
                )
            )
    return found


def page(
    event_id: UUID, matcher: Matcher, *, after: tuple[int, UUID] | None, limit: int
) -> list[Member]:
    """Up to ``limit`` registrations that match and that the rule has not taken, in order of change.

    ``after`` is the place of the last one of the page before.
    """
    rows = Registration.objects.eligible().filter(event_id=event_id)
    if matcher.done_only:
        rows = rows.filter(state="done")
    for predicate in matcher.answers:
        rows = rows.filter(
            Exists(
                RegistrationAnswer.objects.filter(
                    registration=OuterRef("pk"),
                    question=predicate.question_id,
                    answer_id__in=predicate.values,
                )
            )
        )
    place = after or (matcher.since, UUID(int=0))
    rows = rows.filter(
        RawSQL(_BEHIND, place, BooleanField()),  # noqa: S611  parameters are bound
        RawSQL(_NOT_TAKEN, (matcher.rule_id,), BooleanField()),  # noqa: S611  the same
    ).order_by("changed_xid", "id")
    return [Member(*row) for row in rows.values_list(*FIELDS)[:limit]]


def _holds(predicate: Predicate, event: Event) -> bool:
    match predicate.axis:
        case Axis.EVENT:
            return event.pk in predicate.values
        case Axis.EVENT_TYPE:
            return event.type_id in predicate.values
        case Axis.COMPANY:
            return event.company_id in predicate.values
        case Axis.QUESTION_ANSWER:
            raise AssertionError("answers are asked of registrations, not of the event")


def _fingerprint(rule: Rule, predicates: list[Predicate], event: Event) -> str:
    """Changes with everything that decides which registrations of the event the rule takes."""
    said = [
        rule.done_only,
        sorted(
            [p.axis.value, str(p.question_id), sorted(str(value) for value in p.values)]
            for p in predicates
        ),
        str(event.type_id),
        str(event.company_id),
    ]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()
