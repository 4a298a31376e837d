"""The pages: what they show, who may do what, and that nothing is done without a reason."""

import io

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.urls import reverse

from hubqueue.models import Operation
from hubqueue.testing import run_due_jobs
from leads import leasing, services
from leads.models import ImportRun, Lead, LeadProvenance, LeadRequest, LeadRule, Registration
from tests.leads.made import arms, make_answers, make_event, make_registration, request_of, walk_all

pytestmark = pytest.mark.django_db
VERBS = ("run", "park", "release", "rearm")
NASTY = "<script>alert(1)</script>"


@pytest.fixture
def boss(client):
    client.force_login(User.objects.create_superuser("boss"))
    return client


@pytest.fixture
def request_row():
    services.create_rule(name=NASTY, on_create=True)
    event = make_event(name=NASTY)
    services.register(event, name=NASTY, phone="1")
    return request_of(event)


def page(name, *args):
    return reverse(f"admin:leads_{name}", args=args)


def act(client, verb, row, **more):
    said = {"action": verb, "_selected_action": [str(row.pk)], **more}
    return client.post(page("leadrequest_changelist"), said)


def test_every_page_opens_and_escapes_what_people_wrote(boss, request_row):
    walk_all()
    question, (yes,) = make_answers(NASTY, NASTY)
    Registration.objects.get().answers.create(question=question, answer=yes)
    rows = {
        "leadrequest": LeadRequest, "leadrule": LeadRule, "leadprovenance": LeadProvenance,
        "lead": Lead, "registration": Registration,
    }  # fmt: skip
    for name, model in rows.items():
        for path in (page(f"{name}_changelist"), page(f"{name}_change", model.objects.get().pk)):
            answer = boss.get(path)
            assert answer.status_code == 200, path
            body = answer.content.decode()
            assert NASTY not in body, path
            assert "onclick=" not in body, path
    for name in ("event", "eventtype", "question", "importrun"):
        assert boss.get(page(f"{name}_changelist")).status_code == 200
    assert boss.get(page("leadrule_add")).status_code == 200
    assert boss.get(page("event_change", request_row.event_id)).status_code == 200


def test_the_page_of_a_request_shows_how_it_stands(boss, request_row):
    leasing.claim(by="leads.generate 42")
    request_row.event.arms.create(trigger="created")
    body = boss.get(page("leadrequest_change", request_row.pk)).content.decode()
    assert "Being walked" in body
    assert "leads.generate 42" in body
    LeadRequest.objects.update(
        parked_at=request_row.created_at, park_reason="wait for Monday",
        error_detail="leads.sink_refused: no", progress={"rule": 1, "matched": 7},
    )  # fmt: skip
    body = boss.get(page("leadrequest_change", request_row.pk)).content.decode()
    for said in (
        "Parked",
        "wait for Monday",
        "leads.sink_refused: no",
        "new registrations taken</dt><dd>7",
    ):
        assert said in body


@pytest.mark.parametrize("standing", ["open", "done", "leased", "failed", "parked"])
def test_requests_are_filtered_by_how_they_stand(boss, request_row, standing):
    answer = boss.get(page("leadrequest_changelist"), {"standing": standing})
    assert answer.status_code == 200
    assert len(answer.context["cl"].result_list) == (standing == "open")


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_asks_why_before_it_does_anything(boss, request_row, verb):
    answer = act(boss, verb, request_row)
    assert answer.status_code == 200
    assert "Why?" in answer.content.decode()
    answer = act(boss, verb, request_row, confirmed="1", reason="")
    assert "Why?" in answer.content.decode()
    assert not Operation.objects.exists()


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_with_a_reason_is_done_and_logged_twice(boss, request_row, verb):
    if verb == "release":
        LeadRequest.objects.update(parked_at=request_row.created_at)
    answer = act(boss, verb, request_row, confirmed="1", reason="asked by phone")
    assert answer.status_code == 302
    operation = Operation.objects.get()
    assert (operation.verb, operation.actor, operation.reason) == (
        f"leads.{verb}",
        "boss",
        "asked by phone",
    )
    assert "asked by phone" in LogEntry.objects.get().change_message
    row = request_of(request_row.event)
    assert (row.parked_at is not None) == (verb == "park")
    assert (row.lease_token is not None) == (verb == "run")


def test_a_refusal_is_told_with_its_code_and_logged_nowhere(boss, request_row):
    leasing.claim(by="x")
    act(boss, "run", request_row, confirmed="1", reason="r")
    body = boss.get(page("leadrequest_changelist")).content.decode()
    assert "leads.request_busy" in body
    assert not LogEntry.objects.exists()
    assert not Operation.objects.exists()


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_a_permission_of_its_own(client, request_row, verb):
    user = User.objects.create_user("clerk", is_staff=True)
    others = {f"{other}_leadrequest" for other in VERBS if other != verb} | {"view_leadrequest"}
    user.user_permissions.set(Permission.objects.filter(codename__in=others))
    client.force_login(user)
    act(client, verb, request_row, confirmed="1", reason="r")
    assert not Operation.objects.exists()
    user.user_permissions.add(Permission.objects.get(codename=f"{verb}_leadrequest"))
    if verb == "release":
        LeadRequest.objects.update(parked_at=request_row.created_at)
    act(client, verb, request_row, confirmed="1", reason="r")
    assert Operation.objects.get().verb == f"leads.{verb}"


def rule_form(**changes):
    inline = {
        "TOTAL_FORMS": "1",
        "INITIAL_FORMS": "0",
        "MIN_NUM_FORMS": "0",
        "MAX_NUM_FORMS": "1000",
    }
    said = {
        "name": "r", "on_create": "on", "active": "on", "event": "",
        **{f"predicates-{name}": value for name, value in inline.items()},
        "predicates-0-axis": "", "predicates-0-question": "", "predicates-0-values": "",
    }  # fmt: skip
    return {**said, **changes}


def test_a_rule_made_on_its_page_arms_and_one_changed_there_arms_again(boss):
    event = make_event()
    make_registration(event)
    condition = {"predicates-0-axis": "event", "predicates-0-values": f'["{event.pk}"]'}
    assert boss.post(page("leadrule_add"), rule_form(**condition)).status_code == 302
    rule = LeadRule.objects.get()
    assert rule.predicates.get().values == [str(event.pk)]
    assert arms(event) == ["rule"]
    predicate = rule.predicates.get()
    standing = {
        "predicates-INITIAL_FORMS": "1", "predicates-0-id": str(predicate.pk),
        "predicates-0-rule": str(rule.pk), **condition,
    }  # fmt: skip
    renamed = rule_form(name="renamed", **standing)
    assert boss.post(page("leadrule_change", rule.pk), renamed).status_code == 302
    assert arms(event) == ["rule"]
    gone = rule_form(**standing, **{"predicates-0-DELETE": "on"})
    assert boss.post(page("leadrule_change", rule.pk), gone).status_code == 302
    assert not rule.predicates.exists()
    assert arms(event) == ["rule", "rule"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"predicates-0-axis": "event", "predicates-0-values": "1=1"}, "valid JSON"),
        ({"predicates-0-axis": "event", "predicates-0-values": '["1=1"]'}, "UUIDs"),
        ({"predicates-0-axis": "sql", "predicates-0-values": "[]"}, "valid choice"),
        ({"on_create": ""}, "at least one of on create"),
    ],
)
def test_a_rule_outside_the_vocabulary_is_refused_on_its_page(boss, changes, said):
    answer = boss.post(page("leadrule_add"), rule_form(**changes))
    assert answer.status_code == 200
    assert said in answer.content.decode()
    assert not LeadRule.objects.exists()


def test_the_page_of_a_rule_counts_groups_and_those_with_a_lead(boss, request_row):
    walk_all()
    rule = LeadRule.objects.get()
    LeadProvenance.objects.create(rule=rule, grouping="per_order", group_key="order:1")
    body = boss.get(page("leadrule_change", rule.pk)).content.decode()
    assert "per order: 1, with a lead 0" in body
    assert "per event and day: 1, with a lead 1" in body


def test_a_registration_added_and_moved_on_its_pages_arms(boss):
    event = make_event()
    services.create_rule(name="r", on_create=True, on_confirm=True)
    said = {
        "event": str(event.pk), "state": "draft", "active": "on", "name": "Ada", "phone": "1",
        "answers-TOTAL_FORMS": "0", "answers-INITIAL_FORMS": "0",
    }  # fmt: skip
    assert boss.post(page("registration_add"), said).status_code == 302
    person = Registration.objects.get()
    assert arms(event) == ["created"]
    act_on = {"action": "confirm", "_selected_action": [str(person.pk)]}
    boss.post(page("registration_changelist"), act_on)
    assert arms(event) == ["created", "confirmed"]


def test_leads_are_relinked_on_a_page_with_a_reason(boss, request_row):
    walk_all()
    old = LeadProvenance.objects.get().lead_id
    said = {"old": old, "new": "merged-1", "reason": "one person"}
    assert boss.get(page("relink")).status_code == 200
    assert boss.post(page("relink"), {**said, "reason": ""}).status_code == 200
    assert boss.post(page("relink"), said).status_code == 302
    assert LeadProvenance.objects.get().lead_id == "merged-1"
    assert Operation.objects.get().reason == "one person"


HEAD = b"event,name,email,phone,company,sale_order,state,registered_at\n"


def send(client, body, **more):
    file = io.BytesIO(body)
    file.name = "guests.csv"
    return client.post(page("import_upload"), {"file": file, "arm_leads": "on", **more})


def test_a_file_is_uploaded_looked_at_imported_and_reported(boss):
    event = make_event(code="K1")
    services.create_rule(name="r", on_create=True)
    rows = f"K1,{NASTY},a@example.org,,,,open,2026-05-01T10:00:00Z\nK9,B,b@example.org,,,,open,x\n"
    answer = send(boss, HEAD + rows.encode())
    run = ImportRun.objects.get()
    assert answer.url == page("import_run", run.pk)
    body = boss.get(answer.url).content.decode()
    assert "comma" in body
    assert "a@example.org" in body
    assert NASTY not in body
    assert not Registration.objects.exists()
    assert boss.post(page("import_start", run.pk)).status_code == 302
    assert 'http-equiv="refresh"' in boss.get(answer.url).content.decode()
    run_due_jobs()
    body = boss.get(answer.url).content.decode()
    assert "1 imported, 0 were there already, 1 refused" in body
    report = boss.get(page("import_report", run.pk))
    assert report.headers["Content-Disposition"].startswith("attachment")
    lines = b"".join(report.streaming_content).decode().splitlines()
    assert lines[1].startswith("3,unknown_event,")
    assert Lead.objects.get().event == event


def test_a_file_that_cannot_be_read_is_refused_on_the_page(boss):
    body = send(boss, b"a,b\n1,2\n").content.decode()
    assert "Expected a header" in body
    assert not ImportRun.objects.exists()


def test_a_file_can_be_dropped_before_it_is_imported(boss):
    send(boss, HEAD)
    run = ImportRun.objects.get()
    boss.post(page("import_start", run.pk), {"discard": "1"})
    assert not ImportRun.objects.exists()


def test_importing_needs_its_permission_and_a_post(client, boss):
    send(boss, HEAD)
    run = ImportRun.objects.get()
    assert boss.get(page("import_start", run.pk)).status_code == 405
    user = User.objects.create_user("clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_importrun"))
    client.force_login(user)
    assert client.get(page("importrun_changelist")).status_code == 200
    for path in (page("import_upload"), page("import_run", run.pk), page("import_report", run.pk)):
        assert client.get(path).status_code == 403
    assert client.post(page("import_start", run.pk)).status_code == 403
