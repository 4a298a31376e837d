"""What the pages and commands of this app do to registrations and rules: each call is one transaction."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction

from leads.arming import (
    Trigger,
    arm_events,
    arm_registration,
    arm_rule,
    arrival_triggers,
    birth_triggers,
)
from leads.errors import RegistrationMoveRefused
from leads.models import (
    Answer,
    Event,
    LeadRule,
    LeadRulePredicate,
    Question,
    Registration,
    RegistrationAnswer,
)
from leads.predicates import Predicate, PredicateRefused, parse
from leads.wake import wake_after_commit

State = Registration.State
RULE_FIELDS = ("name", "event", "on_create", "on_confirm", "on_done", "active")


@transaction.atomic
def register(
    event: Event, *, answers: Iterable[Answer] = (), by: str = "", **attendee: Any
) -> Registration:
    """Register a person for an event, with the answers given, and arm the event's leads.

    ``attendee`` are fields of ``Registration``. One that starts as open or done counts as confirmed or
    done as well.
    """
    registration = Registration.objects.create(event=event, **attendee)
    given = [
        RegistrationAnswer(registration=registration, question_id=each.question_id, answer=each)
        for each in answers
    ]
    if given:
        RegistrationAnswer.objects.bulk_create(given)
    _arm(registration, birth_triggers(registration.state), by)
    return registration


@transaction.atomic
def confirm(registration: Registration, *, by: str = "") -> Registration:
    """Draft or cancelled -> open. On an open one nothing happens and nothing is armed."""
    return _move(registration, State.OPEN, {State.DRAFT, State.CANCELLED}, by)


@transaction.atomic
def finish(registration: Registration, *, by: str = "") -> Registration:
    """The person was there: -> done. On a done one nothing happens and nothing is armed."""
    return _move(registration, State.DONE, {State.DRAFT, State.OPEN}, by)


@transaction.atomic
def cancel(registration: Registration, *, by: str = "") -> Registration:
    """-> cancelled. Arms nothing: leads that were generated stay."""
    return _move(registration, State.CANCELLED, {State.DRAFT, State.OPEN, State.DONE}, by)


@transaction.atomic
def change_answer(
    registration: Registration, question: Question, answer: Answer | None, *, by: str = ""
) -> None:
    """Set, replace or (``None``) take back an answer, and arm the event if that changed anything."""
    if answer is not None and answer.question_id != question.pk:
        raise RegistrationMoveRefused(
            "the answer belongs to another question; choose one of its own"
        )
    standing = RegistrationAnswer.objects.filter(registration=registration, question=question)
    if answer is None:
        changed = standing.delete()[0] > 0
    elif standing.exclude(answer=answer).update(answer=answer):
        changed = True
    else:
        _, changed = RegistrationAnswer.objects.get_or_create(
            registration=registration, question=question, defaults={"answer": answer}
        )
    if (
        changed
        and registration.active
        and arm_events([registration.event_id], Trigger.ANSWER, by=by)
    ):
        wake_after_commit()


@transaction.atomic
def change_event(event: Event, *, by: str = "", **changes: Any) -> Event:
    """Change fields of an event; a new type or company may let rules match, so it is armed."""
    decisive = any(
        name in changes and getattr(event, name) != changes[name]
        for name in ("type", "type_id", "company_id")
    )
    for name, value in changes.items():
        setattr(event, name, value)
    event.full_clean()
    event.save(update_fields=list(changes))
    if decisive:
        arm_event(event, by=by)
    return event


def arm_event(event: Event, *, by: str = "") -> None:
    """Arm an event by hand, in the open transaction."""
    arm_events([event.pk], Trigger.REARM, by=by)
    wake_after_commit()


@transaction.atomic
def create_rule(
    *, name: str, predicates: Iterable[Mapping[str, Any]] = (), by: str = "", **fields: Any
) -> LeadRule:
    """Create a rule; an active one arms the events in which it may find candidates.

    ``predicates`` are mappings of axis, values and question_id. Raises ``PredicateRefused`` for
    anything outside the vocabulary, and ``ValidationError`` when no trigger is on.
    """
    _check_names(fields)
    rule = LeadRule(name=name, **fields)
    rule.full_clean()
    rule.save()
    _store(rule, [parse(each) for each in predicates])
    arm_changed_rule(rule, by=by)
    return rule


@transaction.atomic
def change_rule(
    rule: LeadRule,
    *,
    predicates: Iterable[Mapping[str, Any]] | None = None,
    by: str = "",
    **fields: Any,
) -> LeadRule:
    """Change a rule. Activated, or changed in scope, triggers or predicates, it arms its events anew."""
    _check_names(fields)
    before = rule_conditions(rule)
    for name, value in fields.items():
        setattr(rule, name, value)
    rule.full_clean()
    rule.save()
    if predicates is not None:
        parsed = [parse(each) for each in predicates]
        rule.predicates.all().delete()
        _store(rule, parsed)
    if rule_conditions(rule) != before:
        arm_changed_rule(rule, by=by)
    return rule


def rule_conditions(rule: LeadRule) -> tuple[object, ...]:
    """What decides which registrations a rule takes, as stored, to compare before and after a change."""
    stored = LeadRule.objects.get(pk=rule.pk)
    predicates = sorted(
        (each.axis, str(each.question_id), tuple(sorted(each.values)))
        for each in LeadRulePredicate.objects.filter(rule=rule)
    )
    return (
        stored.active, stored.event_id, stored.on_create, stored.on_confirm, stored.on_done,
        predicates,
    )  # fmt: skip


def arm_changed_rule(rule: LeadRule, *, by: str = "") -> None:
    """Arm the events of a rule that is active now, in the open transaction."""
    if rule.active and arm_rule(rule, by=by):
        wake_after_commit()


@transaction.atomic
def rule_from_answer(
    question: Question,
    answer: Answer,
    *,
    name: str = "",
    event: Event | None = None,
    on_create: bool = True,
    on_confirm: bool = False,
    on_done: bool = False,
    by: str = "",
) -> LeadRule:
    """Mint a rule whose single condition is this answer to this question."""
    if answer.question_id != question.pk:
        raise PredicateRefused("the answer belongs to another question; choose one of its own.")
    condition = {
        "axis": "question_answer",
        "question_id": str(question.pk),
        "values": [str(answer.pk)],
    }
    return create_rule(
        name=name or f"{question.title}: {answer.title}"[:200],
        event=event,
        on_create=on_create,
        on_confirm=on_confirm,
        on_done=on_done,
        predicates=[condition],
        by=by,
    )


def _move(
    registration: Registration, to: Registration.State, allowed: set[Registration.State], by: str
) -> Registration:
    """Guarded by the state as stored: of two calls at once one moves, the other finds it moved."""
    moved = Registration.objects.filter(pk=registration.pk, state__in=sorted(allowed)).update(
        state=to
    )
    registration.refresh_from_db(fields=["state", "active"])
    if not moved and registration.state != to:
        raise RegistrationMoveRefused(
            f"a registration that is {registration.state} cannot become {to}."
        )
    if moved:
        _arm(registration, arrival_triggers(to), by)
    return registration


def _arm(registration: Registration, triggers: list[Trigger], by: str) -> None:
    if (
        registration.active
        and triggers
        and arm_registration(registration.event_id, triggers, by=by)
    ):
        wake_after_commit()


def _store(rule: LeadRule, predicates: Iterable[Predicate]) -> None:
    LeadRulePredicate.objects.bulk_create(
        LeadRulePredicate(
            rule=rule,
            axis=each.axis,
            question_id=each.question_id,
            values=[str(value) for value in each.values],
        )
        for each in predicates
    )


def _check_names(fields: Mapping[str, Any]) -> None:
    unknown = sorted(set(fields) - set(RULE_FIELDS))
    if unknown:
        raise PredicateRefused(
            f"unknown field {', '.join(unknown)} of a rule; allowed are {', '.join(RULE_FIELDS)}."
        )
