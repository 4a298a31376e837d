"""The officers' verbs: what they do, what they refuse, and the entry each leaves."""

from datetime import timedelta
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from hubqueue import officers as queue_officers
from hubqueue.models import Job, Operation
from hubqueue.states import State
from hubqueue.testing import move_clock, run_due_jobs
from leads import leasing, officers, services
from leads.errors import LeadRequestBusy, LeadRequestNotFound, LeadVerbRefused
from leads.models import LeadProvenance, LeadRequest, LeadRule
from leads.sinks import RefusingSink
from tests.leads.made import (
    HookedSink,
    arms,
    make_answers,
    make_event,
    make_registration,
    request_of,
    taken,
    walk_all,
)

pytestmark = pytest.mark.django_db
WHO = {"actor": "anna", "reason": "asked by phone"}


@pytest.fixture
def rule():
    return services.create_rule(name="everybody", on_create=True)


def test_run_leases_a_done_request_and_a_job_walks_it(rule):
    event = make_event()
    services.register(event, name="A", phone="1")
    walk_all()
    late = make_registration(event)
    job_id = officers.run(event.pk, **WHO)
    request = request_of(event)
    assert request.claimed_by == "run by anna"
    assert taken(rule.pk).isdisjoint({late.pk})
    assert walk_all().summary.claimed == 0
    run_due_jobs()
    assert late.pk in taken(rule.pk)
    assert Job.objects.get(pk=job_id).result["completed"] == 1
    request.refresh_from_db()
    assert (request.done, request.lease_token) == (True, None)


def test_run_refuses_a_busy_and_an_unknown_request_at_once(rule):
    event = make_event()
    with pytest.raises(LeadRequestNotFound):
        officers.run(event.pk, **WHO)
    services.register(event, name="A", phone="1")
    leasing.claim(by="somebody")
    with pytest.raises(LeadRequestBusy, match="somebody"):
        officers.run(event.pk, **WHO)
    assert not Job.objects.exists()
    assert not Operation.objects.exists()
    with move_clock(timedelta(minutes=16)):
        officers.run(event.pk, **WHO)


def test_a_run_whose_lease_is_gone_does_nothing(rule):
    event = make_event()
    services.register(event, name="A", phone="1")
    job_id = officers.run(event.pk, **WHO)
    LeadRequest.objects.filter(event=event).update(lease_token=uuid4())
    run_due_jobs()
    assert Job.objects.get(pk=job_id).result == {"lost": 1}
    assert taken(rule.pk) == set()


def test_a_run_that_is_cancelled_gives_its_lease_back(rule):
    event = make_event()
    services.register(event, name="A", phone="1")
    job_id = officers.run(event.pk, **WHO)
    queue_officers.cancel(job_id, **WHO)
    request = request_of(event)
    assert (request.done, request.lease_token) == (False, None)
    assert walk_all().summary.completed == 1


def test_a_failing_run_parks_loudly_like_any_walk(rule, settings):
    settings.LEADS_SINK = "leads.sinks.RefusingSink"
    event = make_event()
    services.register(event, name="A", phone="1")
    officers.run(event.pk, **WHO)
    run_due_jobs()
    assert request_of(event).error_detail.startswith("leads.sink_not_wired")
    follow_up = Job.objects.get(kind="leads.generate")
    assert follow_up.state == State.READY


def test_a_parked_request_is_left_alone_until_it_is_released(rule):
    event = make_event()
    services.register(event, name="A", phone="1")
    officers.park(event.pk, **WHO)
    services.register(event, name="B", phone="1")
    assert walk_all().summary.claimed == 0
    with pytest.raises(LeadVerbRefused):
        officers.run(event.pk, **WHO)
    with pytest.raises(LeadVerbRefused):
        officers.park(event.pk, **WHO)
    officers.release(event.pk, **WHO)
    with pytest.raises(LeadVerbRefused):
        officers.release(event.pk, **WHO)
    walk_all()
    assert len(taken(rule.pk)) == 2


def test_parking_ends_a_walk_at_its_next_page(rule, settings):
    settings.EVENT_LEAD_BATCH = 1
    event = make_event()
    for _ in range(3):
        make_registration(event)
    services.arm_event(event)
    calls = []

    class Parks(HookedSink):
        def create_leads(self, groups):
            made = super().create_leads(groups)
            officers.park(event.pk, **WHO)
            return made

    summary = walk_all(Parks(calls.append)).summary
    assert summary.lost == 1
    assert len(calls) == 1
    assert request_of(event).parked_at is not None


def test_a_parked_request_owes_the_poller_nothing(rule):
    event = make_event()
    services.register(event, name="A", phone="1")
    assert leasing.next_due() is not None
    officers.park(event.pk, **WHO)
    assert leasing.next_due() is None


def test_rearm_ends_the_wait_and_looks_at_everything_anew(rule):
    event = make_event()
    services.register(event, name="A", phone="1")
    walk_all(RefusingSink())
    assert walk_all().summary.claimed == 0
    officers.rearm(event.pk, **WHO)
    assert arms(event) == ["rearm"]
    assert walk_all().summary.completed == 1
    with pytest.raises(LeadRequestNotFound):
        officers.rearm(make_event().pk, **WHO)


def test_relinking_moves_every_group_of_a_lead_and_says_how_many(rule):
    other = services.create_rule(name="other", on_create=True)
    for number, (of, lead) in enumerate([(rule, "1"), (other, "1"), (rule, "2")]):
        LeadProvenance.objects.create(
            rule=of, grouping="per_order", group_key=f"order:{number}", lead_id=lead
        )
    assert officers.relink_lead("1", "9", **WHO) == 2
    leads = LeadProvenance.objects.order_by("id").values_list("lead_id", flat=True)
    assert list(leads) == ["9", "9", "2"]
    assert officers.relink_lead("1", "9", **WHO) == 0
    for old, new in (("1", "1"), ("", "2"), ("1", "x" * 65), ("1", "a\nb")):
        with pytest.raises(LeadVerbRefused):
            officers.relink_lead(old, new, **WHO)


def test_every_verb_leaves_an_entry_with_who_and_why(rule):
    event = make_event()
    services.register(event, name="A", phone="1")
    officers.park(event.pk, **WHO)
    officers.release(event.pk, **WHO)
    officers.rearm(event.pk, **WHO)
    job_id = officers.run(event.pk, **WHO)
    officers.relink_lead("1", "2", **WHO)
    entries = list(Operation.objects.order_by("id").values_list("verb", "actor", "reason"))
    verbs = ["leads.park", "leads.release", "leads.rearm", "leads.run", "leads.relink"]
    assert entries == [(verb, "anna", "asked by phone") for verb in verbs]
    assert Operation.objects.get(verb="leads.run").job_id == job_id


def command(*words):
    out = StringIO()
    call_command("leads", *words, stdout=out)
    return out.getvalue()


def test_the_terminal_knows_the_verbs(rule):
    event = make_event()
    services.register(event, name="A", phone="1")
    why = ("--reason", "because", "--actor", "otto")
    assert event.code in command("park", event.code, *why)
    assert request_of(event).parked_at is not None
    command("release", str(event.pk), *why)
    command("rearm", event.code, *why)
    assert "job" in command("run", event.code, *why)
    with pytest.raises(CommandError, match="leads.request_busy"):
        command("run", event.code, *why)
    with pytest.raises(CommandError, match="there is none"):
        command("run", "nowhere", *why)
    with pytest.raises(CommandError, match="reason"):
        command("park", event.code)
    assert command("relink-lead", "1", "2", *why) == "0 groups moved\n"
    assert set(Operation.objects.values_list("actor", flat=True)) == {"otto"}


def test_the_terminal_mints_a_rule_from_an_answer():
    question, (yes,) = make_answers("Contact?", "yes")
    event = make_event()
    command("rule-from-answer", "Contact?", "yes", "--on-done", "--event", event.code)
    rule = LeadRule.objects.get()
    assert (rule.event, rule.on_create, rule.on_done) == (event, False, True)
    assert rule.predicates.get().values == [str(yes.pk)]
    with pytest.raises(CommandError):
        command("rule-from-answer", "Contact?", "no")
