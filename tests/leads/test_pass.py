"""The pass: claims, walks, finishes, parks loudly; whatever dies or lands in between strands nobody."""

import logging
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import OperationalError, connection, transaction

from hubqueue.api import Done, Repeat
from hubqueue.errors import StopRequested
from hubqueue.models import Job
from hubqueue.testing import move_clock, perform, run_due_jobs
from leads import leasing, services
from leads.errors import SinkRefused, SinkUnreachable, WalkLeaseLost
from leads.generate_handler import generate
from leads.models import (
    Lead,
    LeadArm,
    LeadProvenance,
    LeadProvenanceRegistration,
    LeadRequest,
    Registration,
    WalkMark,
)
from leads.sinks import DatabaseSink, RefusingSink
from tests.leads.made import (
    HookedSink,
    OutsideSink,
    Steps,
    arms,
    before_statement,
    elsewhere,
    make_event,
    make_registration,
    request_of,
    taken,
    walk_all,
    walk_until_done,
)

pytestmark = pytest.mark.django_db
in_reality = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rule():
    return services.create_rule(name="everybody", on_create=True)


class PickySink(DatabaseSink):
    """Refuses the groups whose key ends in one of these words."""

    def __init__(self, *words, error=None):
        self.words = words
        self.error = error or SinkRefused("no")

    def create_leads(self, groups):
        if any(group.key.endswith(self.words) for group in groups):
            raise self.error
        return super().create_leads(groups)


def test_a_pass_makes_leads_and_finishes(rule):
    event = make_event()
    for _ in range(3):
        services.register(event, name="A", phone="1")
    outcome = walk_all()
    assert outcome.drained
    assert outcome.summary.numbers() == {
        "claimed": 1, "rules": 1, "matched": 3, "groups_created": 1, "groups_grown": 0,
        "leads_created": 1, "leads_updated": 0, "completed": 1, "parked": 0, "lost": 0,
    }  # fmt: skip
    request = request_of(event)
    assert request.done
    assert (request.claimed_at, request.lease_token, request.claimed_by) == (None, None, "")
    assert arms(event) == []
    lead = Lead.objects.get()
    assert LeadProvenance.objects.get().lead_id == str(lead.pk)
    assert lead.registrations == 3


def test_two_rules_make_two_leads_of_one_registration(rule):
    second = services.create_rule(name="second", on_create=True)
    event = make_event()
    person = services.register(event, name="A", phone="1")
    walk_all()
    assert taken(rule.pk) == taken(second.pk) == {person.pk}
    assert Lead.objects.count() == 2


def test_pages_are_taken_until_drained(rule, settings):
    settings.EVENT_LEAD_BATCH = 3
    event = make_event()
    everyone = {make_registration(event).pk for _ in range(10)}
    services.arm_event(event)
    walk_all()
    assert taken(rule.pk) == everyone
    assert LeadProvenance.objects.get().members == Lead.objects.get().registrations == 10


def test_the_pass_ends_at_its_limit_and_comes_back_at_once(rule, settings):
    settings.EVENT_LEAD_CRON_LIMIT = 2
    for _ in range(3):
        services.register(make_event(), name="A", phone="1")
    answer = perform(generate)
    assert answer == Repeat(after=timedelta(0))
    assert LeadRequest.objects.filter(done=True).count() == 2
    answer = perform(generate)
    assert isinstance(answer, Done)
    assert answer.result["claimed"] == 1


def test_the_job_keeps_its_summary_and_logs_it(rule, caplog, django_capture_on_commit_callbacks):
    with (
        caplog.at_level(logging.INFO, logger="leads"),
        django_capture_on_commit_callbacks(execute=True),
    ):
        services.register(make_event(), name="Secret Name", phone="1")
    run_due_jobs()
    job = Job.objects.get(kind="leads.generate")
    assert job.state == "SUCCEEDED"
    assert job.result["leads_created"] == 1
    assert "leads_created=1" in caplog.text
    assert "Secret Name" not in caplog.text


def test_a_failed_request_makes_the_job_repeat_when_it_is_due_again(rule, settings):
    settings.LEADS_SINK = "leads.sinks.RefusingSink"
    event = make_event()
    services.register(event, name="A", phone="1")
    answer = perform(generate)
    assert answer == Repeat(at=request_of(event).next_attempt_at)


def test_an_unwired_installation_parks_loudly_and_retries_with_growing_waits(rule):
    event = make_event()
    services.register(event, name="A", phone="1")
    summary = walk_all(RefusingSink()).summary
    request = request_of(event)
    assert (summary.parked, summary.completed) == (1, 0)
    assert not request.done
    assert request.error_detail == "leads.sink_not_wired: no sink is set; set LEADS_SINK"
    assert (request.failures, request.lease_token) == (1, None)
    first = request.next_attempt_at - request.updated_at
    assert walk_all().summary.claimed == 0
    with move_clock(timedelta(hours=1)):
        walk_all(RefusingSink())
        request.refresh_from_db()
        assert request.failures == 2
        assert request.next_attempt_at - request.updated_at > first
    with move_clock(timedelta(days=1)):
        assert walk_all().summary.completed == 1
    request.refresh_from_db()
    assert (request.error_detail, request.failures, request.next_attempt_at) == ("", 0, None)


def test_a_sink_that_cannot_be_made_parks_loudly(rule, settings):
    settings.LEADS_SINK = "leads.sinks.NoSuchSink"
    event = make_event()
    services.register(event, name="A", phone="1")
    perform(generate)
    assert request_of(event).error_detail.startswith("leads.sink_not_wired")


def test_one_failing_event_starves_no_other(rule):
    failing, fine = make_event(), make_event()
    services.register(failing, name="A", phone="1", sale_order_id="bad")
    services.register(fine, name="A", phone="1")
    summary = walk_all(PickySink("bad")).summary
    assert (summary.parked, summary.completed) == (1, 1)
    assert request_of(fine).done
    assert not request_of(failing).done


def test_a_refused_group_holds_up_no_other_of_its_page_and_is_met_again(rule):
    event = make_event()
    bad = make_registration(event, sale_order_id="bad")
    good = {make_registration(event, sale_order_id=f"S{n}").pk for n in range(5)}
    services.arm_event(event)
    walk_all(PickySink("bad"))
    assert taken(rule.pk) == good
    assert request_of(event).error_detail == "leads.sink_refused: no"
    with move_clock(timedelta(hours=1)):
        walk_all()
    assert taken(rule.pk) == {*good, bad.pk}
    assert request_of(event).done


def test_an_exception_is_told_by_its_class_and_never_by_its_message(rule, caplog):
    event = make_event()
    services.register(event, name="A", phone="1", sale_order_id="bad")
    walk_all(PickySink("bad", error=ValueError("secret@example.org")))
    assert request_of(event).error_detail == "leads.failed: ValueError"
    assert "secret" not in caplog.text


def test_after_a_sink_is_unreachable_no_further_group_is_tried(rule):
    class Down(OutsideSink):
        def create_lead(self, group):
            super().create_lead(group)
            raise SinkUnreachable("no answer")

    event = make_event()
    for number in range(5):
        make_registration(event, sale_order_id=f"S{number}")
    services.arm_event(event)
    sink = Down()
    walk_all(sink)
    assert len(sink.created) == 1


def test_refusals_of_one_walk_are_bounded(rule, settings):
    settings.EVENT_LEAD_REFUSALS = 3
    event = make_event()
    for number in range(9):
        make_registration(event, sale_order_id=f"S{number}-bad")
    services.arm_event(event)
    walk_all(PickySink("bad"))
    assert request_of(event).progress["refused"] == 3


def test_the_least_recently_attempted_request_comes_first(rule, settings):
    settings.EVENT_LEAD_CRON_LIMIT = 1
    events = [make_event() for _ in range(3)]
    for event in events:
        services.register(event, name="A", phone="1")
    order = []
    for _ in range(3):
        walk_all(HookedSink(lambda groups: order.append(groups[0].event.pk)))
    assert order == [event.pk for event in events]


def test_a_stopped_job_frees_its_request_at_once(rule, settings):
    settings.EVENT_LEAD_BATCH = 1
    event = make_event()
    for _ in range(3):
        make_registration(event)
    services.arm_event(event)
    left = iter([False, False, False])

    def stop():
        if next(left, True):
            raise StopRequested("stop requested")

    with pytest.raises(StopRequested):
        walk_all(job=Steps(stop))
    request = request_of(event)
    assert (request.done, request.lease_token) == (False, None)
    assert 0 < len(taken(rule.pk)) < 3
    walk_all()
    assert len(taken(rule.pk)) == 3


def test_a_walk_whose_time_is_spent_leaves_the_request_due(rule, settings, monkeypatch):
    settings.EVENT_LEAD_BATCH = 2
    event = make_event()
    for _ in range(5):
        make_registration(event)
    services.arm_event(event)
    answers = iter([False, True])
    monkeypatch.setattr("leads.generation._spent", lambda: lambda: next(answers, True))
    outcome = walk_all()
    assert not outcome.drained
    assert len(taken(rule.pk)) == 2
    request = request_of(event)
    assert (request.done, request.claimed_at, request.error_detail) == (False, None, "")


def test_a_fresh_lease_is_respected_and_a_stale_one_is_not(rule):
    event = make_event()
    services.register(event, name="A", phone="1")
    dead = leasing.claim(by="a walker that dies")
    assert arms(event) == []
    assert walk_all().summary.claimed == 0
    with move_clock(timedelta(minutes=14)):
        assert walk_all().summary.claimed == 0
    with move_clock(timedelta(minutes=16)):
        assert walk_all().summary.completed == 1
    assert request_of(event).done
    with pytest.raises(WalkLeaseLost):
        leasing.finish(dead, {})


def test_a_walker_that_lost_its_lease_changes_nothing_more(rule, settings):
    settings.EVENT_LEAD_BATCH = 1
    event = make_event()
    for _ in range(3):
        make_registration(event)
    services.arm_event(event)
    calls = []

    def steal():
        if len(calls) == 1:
            LeadRequest.objects.filter(event=event).update(lease_token=uuid4(), claimed_by="thief")

    summary = walk_all(HookedSink(calls.append), Steps(steal)).summary
    assert (summary.lost, summary.completed, summary.parked) == (1, 0, 0)
    assert len(taken(rule.pk)) == 1
    request = request_of(event)
    assert (request.claimed_by, request.done, request.failures) == ("thief", False, 0)


def test_a_lost_lease_stops_the_calls_of_an_outside_sink(rule):
    event = make_event()
    for number in range(3):
        make_registration(event, sale_order_id=f"S{number}")
    services.arm_event(event)
    sink = OutsideSink()
    real = sink.create_lead

    def create(group):
        LeadRequest.objects.filter(event=event).update(lease_token=uuid4())
        return real(group)

    sink.create_lead = create
    summary = walk_all(sink).summary
    assert summary.lost == 1
    assert len(sink.created) == 1
    assert not LeadProvenanceRegistration.objects.exists()


def test_a_lost_database_is_no_failure_of_the_request(rule):
    event = make_event()
    services.register(event, name="A", phone="1")

    def gone(groups):
        raise OperationalError("server closed the connection")

    with pytest.raises(OperationalError):
        walk_all(HookedSink(gone))
    assert request_of(event).error_detail == ""


def test_an_arm_whose_request_is_missing_or_done_is_adopted(rule):
    missing, done = make_event(), make_event()
    people = {make_registration(missing).pk, make_registration(done).pk}
    LeadRequest.objects.create(event=done, done=True)
    for event in (missing, done):
        LeadArm.objects.create(event=event, trigger="created")
    walk_all()
    assert taken(rule.pk) == people
    assert not LeadArm.objects.exists()


def test_deleting_an_event_during_its_walk_ends_the_walk_alone(rule):
    event, other = make_event(), make_event()
    doomed = event.pk
    services.register(event, name="A", phone="1")
    services.register(other, name="A", phone="1")

    def delete():
        if LeadRequest.objects.filter(event_id=doomed, claimed_at__isnull=False).exists():
            event.delete()

    summary = walk_all(job=Steps(delete)).summary
    assert (summary.lost, summary.completed) == (1, 1)


@in_reality
def test_an_outside_sink_is_called_with_no_transaction_open(rule):
    event = make_event()
    make_registration(event, sale_order_id="S1")
    services.arm_event(event)
    sink = OutsideSink()
    walk_all(sink)
    services.register(event, name="B", phone="1", sale_order_id="S1")
    walk_all(sink)
    assert sink.in_transaction == [False, False]


@in_reality
def test_an_outside_sink_that_created_and_did_not_live_to_tell_is_asked_again_with_the_same_key(
    rule,
):
    event = make_event()
    make_registration(event, sale_order_id="S1")
    services.arm_event(event)
    sink = OutsideSink()
    real = sink.create_lead

    def dies(group):
        real(group)
        raise SinkUnreachable("no answer")

    sink.create_lead = dies
    walk_all(sink)
    assert LeadProvenance.objects.get().lead_id is None
    sink.create_lead = real
    with move_clock(timedelta(hours=1)):
        walk_all(sink)
    assert len(sink.leads) == 1
    assert [group.idempotency_key for group in sink.created] == [
        sink.created[0].idempotency_key
    ] * 2
    assert LeadProvenance.objects.get().lead_id == "crm-1"


@in_reality
@pytest.mark.parametrize("outside", [False, True], ids=["inside", "outside"])
def test_a_trigger_that_commits_at_any_point_of_the_walk_strands_nobody(rule, outside):
    """Before each statement of a walk in turn, another connection registers one more person."""
    sink = OutsideSink() if outside else DatabaseSink()
    number = statements = 1
    while number <= statements:
        event = make_event()
        expected = {services.register(event, name="A", phone="1").pk}

        def land(event=event, expected=expected):
            made = elsewhere(lambda: services.register(event, name="B", phone="2"))
            expected.add(made.pk)

        with before_statement(number, land) as seen:
            walk_all(sink)
        statements = seen[0]
        landed = len(expected) == 2
        assert landed == (number <= statements)
        if landed and not expected <= taken(rule.pk):
            assert LeadRequest.objects.open().filter(event=event).exists(), f"statement {number}"
        walk_until_done(sink)
        assert expected <= taken(rule.pk), f"statement {number}"
        number += 1
    assert number > 10


@in_reality
def test_a_trigger_during_the_walk_leaves_the_request_open(rule, monkeypatch):
    event = make_event()
    services.register(event, name="A", phone="1")

    def land(groups):
        if len(groups[0].new) == 1 and Registration.objects.filter(event=event).count() == 1:
            elsewhere(lambda: services.register(event, name="B", phone="2"))

    finished = []
    real = leasing.finish

    def watched(*given, **named):
        finished.append(real(*given, **named))
        return finished[-1]

    monkeypatch.setattr(leasing, "finish", watched)
    walk_all(HookedSink(land))
    assert finished == [False, True]
    assert len(taken(rule.pk)) == 2


@in_reality
def test_a_rule_deleted_during_the_walk_does_not_keep_the_request_from_its_end(rule):
    event = make_event()
    passing = services.create_rule(name="passing", event=event, on_done=True)
    services.register(event, name="A", phone="1")
    walk_all(HookedSink(lambda groups: elsewhere(passing.delete)))
    assert request_of(event).done
    assert [mark.rule_id for mark in WalkMark.objects.all()] == [rule.pk]


@in_reality
def test_only_a_walk_that_wrote_nothing_ends_without_waiting_for_the_disk(rule):
    """And a claim does not wait either: what the walk commits takes it along."""
    event = make_event()
    services.register(event, name="A", phone="1")
    waits = []

    def note(execute, sql, params, many, context):
        answer = execute(sql, params, many, context)
        if "set_config('synchronous_commit'" in sql and context["cursor"].rowcount:
            waits.append(context["cursor"].fetchone()[-1] != "off")
            context["cursor"].scroll(0, mode="absolute")
        return answer

    with connection.execute_wrapper(note):
        walk_all()
        services.arm_event(event)
        walk_all()
    assert waits == [False, True, False, False]  # claim, end; claim, end
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        assert cursor.fetchone() == ("on",)


@in_reality
def test_an_uncommitted_registration_is_found_after_its_commit(rule):
    """It began before the walk and ends after it: the mark must not pass over it."""
    event = make_event()
    services.register(event, name="A", phone="1")
    with transaction.atomic():
        late = services.register(event, name="Late", phone="2")
        elsewhere(walk_all)
        elsewhere(lambda: services.register(event, name="C", phone="3"))
        elsewhere(walk_all)
    walk_until_done()
    assert late.pk in taken(rule.pk)
    assert len(taken(rule.pk)) == 3


@in_reality
def test_two_walkers_never_hold_one_event(rule, settings):
    settings.EVENT_LEAD_BATCH = 1
    event = make_event()
    for _ in range(4):
        make_registration(event)
    services.arm_event(event)
    rivals = []
    sink = HookedSink(lambda groups: rivals.append(elsewhere(walk_all).summary.claimed))
    walk_all(sink)
    assert rivals == [0, 0, 0, 0]
    assert len(taken(rule.pk)) == LeadProvenance.objects.get().members == 4


@in_reality
def test_two_walkers_of_two_events_with_one_order_make_one_lead(rule):
    first, second = make_event(), make_event()
    for event in (first, second):
        for number in range(3):
            make_registration(event, sale_order_id=f"S{number}")
        services.arm_event(event)
    rivals = []

    def rival():
        if not rivals and LeadProvenanceRegistration.objects.exists():
            rivals.append(elsewhere(walk_all).summary.numbers())

    walk_all(job=Steps(rival))
    assert rivals[0]["claimed"] == 1
    assert Lead.objects.count() == 3
    assert set(LeadProvenance.objects.values_list("members", flat=True)) == {2}


@in_reality
def test_an_abandoned_walk_resumes_where_it_committed(rule, settings):
    """A walker that dies between two pages leaves whole pages, which the next one passes over."""
    settings.EVENT_LEAD_BATCH = 2
    event = make_event()
    everyone = {make_registration(event).pk for _ in range(6)}
    services.arm_event(event)
    pages = []

    class Killed(BaseException):
        pass

    def die(groups):
        pages.append(groups)
        if len(pages) == 2:
            raise Killed

    with pytest.raises(Killed):
        walk_all(HookedSink(die))
    assert len(taken(rule.pk)) == 2
    assert request_of(event).lease_token is not None
    with move_clock(timedelta(minutes=16)):
        summary = walk_all().summary
    assert summary.matched == 4
    assert taken(rule.pk) == everyone
    assert Lead.objects.get().registrations == 6
