"""Rules: the closed vocabulary, every axis, and what the database itself refuses."""

import uuid

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from leads import services
from leads.models import EventType, LeadRule, LeadRulePredicate
from leads.predicates import PredicateRefused, parse
from tests.leads.made import (
    make_answers,
    make_event,
    make_registration,
    taken,
    walk_all,
    walk_until_done,
)

pytestmark = pytest.mark.django_db
SOME_ID = str(uuid.uuid4())


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ({"axis": "eval", "values": [SOME_ID]}, "event, event_type, company, question_answer"),
        ({"axis": "event", "values": [SOME_ID], "sql": "1=1"}, "axis, values, question_id"),
        ({"axis": "event", "values": []}, "1 to 1000"),
        ({"axis": "event", "values": SOME_ID}, "a list"),
        ({"axis": "event", "values": ["1=1"]}, "UUID"),
        ({"axis": "event", "values": [3]}, "UUID"),
        ({"axis": "event", "values": [SOME_ID], "question_id": SOME_ID}, "question_answer"),
        ({"axis": "question_answer", "values": [SOME_ID]}, "question_id"),
        ({"axis": ["event"], "values": [SOME_ID]}, "allowed are"),
        ({"values": [SOME_ID]}, "allowed are"),
    ],
)
def test_what_is_outside_the_vocabulary_is_refused_with_what_is_allowed(given, allowed):
    with pytest.raises(PredicateRefused, match=allowed):
        parse(given)
    with pytest.raises(PredicateRefused):
        services.create_rule(name="r", on_create=True, predicates=[given])
    assert not LeadRule.objects.exists()


def test_an_unknown_field_of_a_rule_is_refused_with_what_is_allowed():
    with pytest.raises(PredicateRefused, match="on_create"):
        services.create_rule(name="r", on_create=True, expression="1 == 1")


def test_a_rule_needs_a_trigger():
    with pytest.raises(ValidationError):
        services.create_rule(name="r")
    with pytest.raises(IntegrityError), transaction.atomic():
        LeadRule.objects.create(name="r")


@pytest.mark.parametrize(
    "columns",
    [
        {"axis": "anything", "values": [SOME_ID]},
        {"axis": "event", "values": {}},
        {"axis": "event", "values": []},
        {"axis": "event", "values": "x"},
        {"axis": "question_answer", "values": [SOME_ID]},
    ],
)
def test_the_database_refuses_a_predicate_outside_the_vocabulary(columns):
    rule = services.create_rule(name="r", on_create=True)
    with pytest.raises(IntegrityError), transaction.atomic():
        LeadRulePredicate.objects.create(rule=rule, **columns)


def test_every_axis_selects_and_predicates_are_anded_and_values_ored():
    fair, course = (EventType.objects.create(name=name) for name in ("fair", "course"))
    company = uuid.uuid4()
    first = make_event(type=fair, company_id=company)
    second = make_event(type=course, company_id=company)
    third = make_event(type=fair)
    question, (yes, no, later) = make_answers("Contact?", "yes", "no", "later")
    size, (small,) = make_answers("Size", "small")
    people = {}
    for event in (first, second, third):
        for answer in (yes, no, later, None):
            made = make_registration(event)
            people[event.pk, answer and answer.title] = made.pk
            if answer is not None:
                made.answers.create(question=question, answer=answer)
    everybody = set(people.values())
    of = {
        event.pk: {pk for (e, _), pk in people.items() if e == event.pk}
        for event in (first, second, third)
    }

    def found(*predicates):
        rule = services.create_rule(name="r", on_create=True, predicates=predicates)
        walk_until_done()
        return taken(rule.pk)

    on_events = {"axis": "event", "values": [first.pk, third.pk]}
    on_type = {"axis": "event_type", "values": [str(fair.pk)]}
    on_company = {"axis": "company", "values": [company]}
    on_answer = {"axis": "question_answer", "question_id": question.pk, "values": [yes.pk, no.pk]}
    assert found() == everybody
    assert found(on_events) == of[first.pk] | of[third.pk]
    assert found(on_type) == of[first.pk] | of[third.pk]
    assert found(on_company) == of[first.pk] | of[second.pk]
    assert found(on_type, on_company) == of[first.pk]
    assert found(on_answer) == {pk for (_, a), pk in people.items() if a in ("yes", "no")}
    assert found(on_answer, on_company, on_type) == {
        people[first.pk, "yes"],
        people[first.pk, "no"],
    }
    nobody = {"axis": "question_answer", "question_id": size.pk, "values": [small.pk]}
    assert found(on_answer, nobody) == set()


@pytest.mark.parametrize(
    ("triggers", "states"),
    [
        ({"on_create": True}, {"open", "done"}),
        ({"on_done": True}, {"done"}),
        ({"on_done": True, "on_confirm": True}, {"open", "done"}),
    ],
)
def test_a_rule_takes_active_registrations_in_its_states(triggers, states):
    event = make_event()
    made = {
        state: make_registration(event, state=state)
        for state in ("draft", "open", "done", "cancelled")
    }
    make_registration(event, active=False)
    rule = services.create_rule(name="r", **triggers)
    walk_all()
    assert taken(rule.pk) == {made[state].pk for state in states}


def test_a_rule_minted_from_an_answer_has_that_pair_as_its_single_predicate():
    question, (yes, no) = make_answers("Contact?", "yes", "no")
    other, (maybe,) = make_answers("Other", "maybe")
    rule = services.rule_from_answer(question, yes)
    (predicate,) = rule.predicates.all()
    assert (predicate.axis, predicate.question_id, predicate.values) == (
        "question_answer",
        question.pk,
        [str(yes.pk)],
    )
    with pytest.raises(PredicateRefused):
        services.rule_from_answer(question, maybe)


def test_a_changed_scope_or_predicate_finds_what_the_rule_passed_over_before():
    first, second = make_event(), make_event()
    question, (yes, no) = make_answers("Contact?", "yes", "no")
    early = make_registration(first)
    early.answers.create(question=question, answer=no)
    elsewhere = make_registration(second)
    condition = {"axis": "question_answer", "question_id": question.pk, "values": [yes.pk]}
    rule = services.create_rule(name="r", event=first, on_create=True, predicates=[condition])
    walk_until_done()
    assert taken(rule.pk) == set()
    services.change_rule(rule, predicates=[{**condition, "values": [yes.pk, no.pk]}])
    walk_until_done()
    assert taken(rule.pk) == {early.pk}
    services.change_rule(rule, event=None, predicates=[])
    walk_until_done()
    assert taken(rule.pk) == {early.pk, elsewhere.pk}


def test_an_answer_changed_later_is_found_by_the_walk_after_it():
    event = make_event()
    question, (yes, no) = make_answers("Contact?", "yes", "no")
    person = make_registration(event)
    person.answers.create(question=question, answer=no)
    rule = services.rule_from_answer(question, yes)
    walk_until_done()
    assert taken(rule.pk) == set()
    services.change_answer(person, question, yes)
    walk_until_done()
    assert taken(rule.pk) == {person.pk}


def test_an_event_that_changes_its_type_is_found_by_the_rules_of_the_new_one():
    fair = EventType.objects.create(name="fair")
    event = make_event()
    person = make_registration(event)
    rule = services.create_rule(
        name="r", on_create=True, predicates=[{"axis": "event_type", "values": [fair.pk]}]
    )
    walk_until_done()
    services.change_event(event, type=fair)
    walk_until_done()
    assert taken(rule.pk) == {person.pk}


def test_switching_a_rule_off_ungenerates_nothing():
    event = make_event()
    person = make_registration(event)
    rule = services.create_rule(name="r", on_create=True)
    walk_until_done()
    services.change_rule(rule, active=False)
    make_registration(event)
    walk_until_done()
    assert taken(rule.pk) == {person.pk}
