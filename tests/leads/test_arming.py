"""Arming: which moments arm, in whose transaction, and that nobody waits for anybody."""

import threading

import pytest
from django.db import connection, transaction

from hubqueue.models import Job
from leads import services
from leads.errors import RegistrationMoveRefused
from leads.models import Event, LeadArm, LeadRequest
from leads.wake import wake
from tests.leads.made import (
    arms,
    elsewhere,
    make_answers,
    make_event,
    make_registration,
    request_of,
    walk_until_done,
)

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("trigger", "state", "armed"),
    [
        ("on_create", "draft", ["created"]),
        ("on_create", "open", ["created"]),
        ("on_confirm", "draft", []),
        ("on_confirm", "open", ["confirmed"]),
        ("on_done", "open", []),
        ("on_done", "done", ["done"]),
    ],
)
def test_a_registration_arms_what_the_rules_listen_to(trigger, state, armed):
    event = make_event()
    services.create_rule(name="r", **{trigger: True})
    services.register(event, name="A", email="a@example.org", state=state)
    assert arms(event) == armed
    assert LeadRequest.objects.filter(event=event).exists() == bool(armed)


def test_confirming_and_finishing_arm_once_and_repeating_them_does_not():
    event = make_event()
    services.create_rule(name="r", on_confirm=True, on_done=True)
    registration = services.register(event, name="A", phone="1", state="draft")
    services.confirm(registration)
    services.confirm(registration)
    services.finish(registration)
    services.finish(registration)
    assert arms(event) == ["confirmed", "done"]


def test_a_cancelled_registration_that_is_confirmed_again_arms():
    event = make_event()
    services.create_rule(name="r", on_confirm=True)
    registration = make_registration(event, state="cancelled")
    services.confirm(registration)
    assert arms(event) == ["confirmed"]


def test_a_move_that_does_not_fit_is_refused_and_arms_nothing():
    event = make_event()
    services.create_rule(name="r", on_confirm=True, on_done=True)
    registration = make_registration(event, state="cancelled")
    with pytest.raises(RegistrationMoveRefused):
        services.finish(registration)
    done = make_registration(event, state="done")
    with pytest.raises(RegistrationMoveRefused):
        services.confirm(done)
    assert arms(event) == []


def test_inactive_registrations_and_inactive_or_foreign_rules_arm_nothing():
    event, other = make_event(), make_event()
    services.create_rule(name="off", on_create=True, active=False)
    services.create_rule(name="other", on_create=True, event=other)
    services.register(event, name="A", phone="1")
    assert arms(event) == []
    services.create_rule(name="all", on_create=True)
    LeadArm.objects.all().delete()
    services.register(event, name="A", phone="1", active=False)
    assert arms(event) == []


def test_a_rolled_back_registration_leaves_no_arm_and_wakes_nobody(
    django_capture_on_commit_callbacks,
):
    event = make_event()
    services.create_rule(name="r", on_create=True)
    with django_capture_on_commit_callbacks(execute=True) as woken:
        with pytest.raises(RuntimeError), transaction.atomic():
            services.register(event, name="A", phone="1")
            raise RuntimeError
    assert arms(event) == []
    assert woken == []
    assert not Job.objects.exists()


def test_the_pass_is_woken_once_per_transaction_and_stands_once(django_capture_on_commit_callbacks):
    event = make_event()
    services.create_rule(name="r", on_create=True)
    for _ in range(3):
        with django_capture_on_commit_callbacks(execute=True) as woken, transaction.atomic():
            for _ in range(4):
                services.register(event, name="A", phone="1")
        assert woken.count(wake) == 1
    assert Job.objects.filter(kind="leads.generate").count() == 1
    assert len(arms(event)) == 12


def test_waking_is_not_lost_with_a_savepoint(django_capture_on_commit_callbacks):
    event = make_event()
    services.create_rule(name="r", on_create=True)
    with django_capture_on_commit_callbacks() as woken, transaction.atomic():
        with pytest.raises(RuntimeError), transaction.atomic():
            services.register(event, name="A", phone="1")
            raise RuntimeError
        services.register(event, name="A", phone="1")
    assert woken.count(wake) == 1


def test_a_done_request_is_opened_again():
    event = make_event()
    services.create_rule(name="r", on_create=True)
    LeadRequest.objects.create(event=event, done=True)
    services.register(event, name="A", phone="1", by="anna")
    assert not request_of(event).done
    assert request_of(event).updated_by == "anna"


def test_a_global_rule_arms_the_events_with_candidates_in_id_order():
    events = [make_event() for _ in range(4)]
    make_registration(events[2])
    make_registration(events[0])
    make_registration(events[1], state="draft")
    make_registration(events[3], active=False)
    services.create_rule(name="all", on_create=True)
    armed = list(LeadArm.objects.order_by("id").values_list("event_id", flat=True))
    assert armed == sorted([events[0].pk, events[2].pk])
    assert set(LeadRequest.objects.values_list("event_id", flat=True)) == set(armed)


def test_a_rule_for_done_ones_alone_arms_where_some_are_done():
    opened, ended = make_event(), make_event()
    make_registration(opened)
    make_registration(ended, state="done")
    services.create_rule(name="done", on_done=True)
    assert (arms(opened), arms(ended)) == ([], ["rule"])


def test_a_rule_arms_when_it_is_activated_or_changed_and_not_when_switched_off_or_renamed():
    event, other = make_event(), make_event()
    make_registration(event)
    rule = services.create_rule(name="r", event=event, on_create=True, active=False)
    assert arms(event) == []
    services.change_rule(rule, active=True)
    assert arms(event) == ["rule"]
    services.change_rule(rule, name="renamed")
    services.change_rule(rule, active=False)
    assert arms(event) == ["rule"]
    services.change_rule(rule, active=True)
    services.change_rule(rule, predicates=[{"axis": "event", "values": [str(event.pk)]}])
    services.change_rule(rule, predicates=[{"axis": "event", "values": [str(event.pk)]}])
    assert arms(event) == ["rule"] * 3
    make_registration(other)
    services.change_rule(rule, event=None, predicates=[])
    assert (arms(event), arms(other)) == (["rule"] * 4, ["rule"])


def test_an_answer_changed_later_arms_and_the_same_answer_does_not():
    event = make_event()
    question, (yes, no) = make_answers("Contact?", "yes", "no")
    registration = make_registration(event)
    services.change_answer(registration, question, yes)
    services.change_answer(registration, question, yes)
    assert arms(event) == ["answer"]
    services.change_answer(registration, question, no)
    services.change_answer(registration, question, None)
    services.change_answer(registration, question, None)
    assert arms(event) == ["answer"] * 3


def test_a_change_of_an_events_type_arms_and_of_its_name_does_not():
    event = make_event()
    services.change_event(event, name="New name")
    assert arms(event) == []
    services.change_event(event, company_id="0198a9c1-0000-7000-8000-000000000001")
    assert arms(event) == ["rearm"]


@pytest.mark.django_db(transaction=True)
def test_two_transactions_that_touch_two_events_in_opposite_order_do_not_wait_for_each_other():
    """Both requests are done, or missing: the two cases in which arming writes a request's row."""
    services.create_rule(name="r", on_create=True)
    for prepare in (
        lambda event: LeadRequest.objects.create(event=event, done=True),
        lambda e: None,
    ):
        first, second = make_event(), make_event()
        prepare(first)
        prepare(second)

        def the_other_way_round(first=first, second=second):
            with transaction.atomic():
                services.register(second, name="B", phone="1")
                services.register(first, name="B", phone="1")

        with transaction.atomic():
            services.register(first, name="A", phone="1")
            elsewhere(the_other_way_round)
            services.register(second, name="A", phone="1")
        assert len(arms(first)) == len(arms(second)) == 2
        assert not LeadRequest.objects.filter(event__in=[first, second], done=True).exists()


@pytest.mark.django_db(transaction=True)
def test_many_clients_of_one_event_lose_no_arm_and_make_one_request():
    event = make_event()
    services.create_rule(name="r", on_create=True)
    barrier = threading.Barrier(8)
    failed = []

    def client():
        try:
            barrier.wait(10)
            for _ in range(5):
                services.register(event, name="A", phone="1")
        except BaseException as raised:
            failed.append(raised)
        finally:
            connection.close()

    threads = [threading.Thread(target=client) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert failed == []
    assert len(arms(event)) == 40
    assert LeadRequest.objects.filter(event=event).count() == 1
    assert Job.objects.filter(kind="leads.generate").count() == 1


def test_an_arm_whose_event_is_gone_is_swept_and_stops_no_pass():
    gone, event = make_event(), make_event()
    services.create_rule(name="r", on_create=True)
    LeadArm.objects.create(event=gone, trigger="created")
    Event.objects.filter(pk=gone.pk)._raw_delete("default")
    person = services.register(event, name="A", phone="1")
    walk_until_done()
    assert not LeadArm.objects.exists()
    assert person.provenances.count() == 1


def test_arms_go_with_their_event():
    event = make_event()
    services.arm_event(event)
    event.delete()
    assert not LeadArm.objects.exists()
