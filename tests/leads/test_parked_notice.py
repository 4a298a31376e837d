"""Officers hear of an event whose leads stand still for an hour: once per standstill, and not of shorter ones."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from hubqueue.models import Job
from hubqueue.testing import enqueued, move_clock, run_due_jobs
from leads import officers, parked_handler, services
from leads.models import LeadRequest
from leads.parked_handler import tell_parked
from leads.parked_notice import describe, sample
from leads.sinks import DatabaseSink, RefusingSink
from notifications.categories import category
from notifications.models import Notification, Preference
from notifications.rendering import render
from notifications.webhooks.dispatch_handler import dispatch
from notifications.webhooks.events import subscribable
from tests.leads.made import make_event, make_registration, request_of, walk_all

pytestmark = pytest.mark.django_db
WHO = {"actor": "anna", "reason": "the CRM moves"}

CATEGORY = "leads.request_parked"


def officer(name, *permissions, **fields):
    said = {"email": f"{name}@example.org", "is_staff": True, **fields}
    made = User.objects.create_user(name, **said)
    made.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return made


@pytest.fixture
def anna():
    return officer("anna", "release_leadrequest", "view_leadrequest", "view_event")


@pytest.fixture
def event():
    made = make_event(code="FAIR", name="Night Trains")
    services.create_rule(name="everybody", on_create=True)
    make_registration(made)
    services.arm_event(made)
    return made


def after(minutes):
    """Run what is due to be told when so many minutes have passed; answers who was told in all, in order."""
    with move_clock(timedelta(minutes=minutes)):
        report = run_due_jobs(kinds=[tell_parked], raise_failures=True)
    assert not report.failures
    rows = Notification.objects.filter(category=CATEGORY).order_by("id")
    return [row.recipient.username for row in rows.select_related("recipient")]


def test_after_an_hour_those_are_told_who_could_release_it_and_work_here(anna, event):
    by_group = officer("grace")
    group = Group.objects.create(name="leads")
    group.permissions.add(Permission.objects.get(codename="release_leadrequest"))
    by_group.groups.add(group)
    officer("root", is_superuser=True)
    officer("looks", "view_leadrequest", "park_leadrequest")
    officer("guest", "release_leadrequest", is_staff=False)
    officer("left", "release_leadrequest", is_active=False)
    officers.park(event.pk, **WHO)
    assert after(59) == []
    assert sorted(after(61)) == ["anna", "grace", "root"]


def test_it_is_told_once_however_long_it_lasts_and_again_when_it_is_parked_again(anna, event):
    officers.park(event.pk, **WHO)
    assert after(61) == ["anna"]
    assert not enqueued(tell_parked)
    with move_clock(timedelta(minutes=200)):
        officers.release(event.pk, **WHO)
        officers.park(event.pk, **WHO)
    assert after(255) == ["anna"]
    assert after(261) == ["anna", "anna"]


def test_nobody_is_told_of_what_was_released_before_the_hour(anna, event):
    officers.park(event.pk, **WHO)
    with move_clock(timedelta(minutes=59)):
        officers.release(event.pk, **WHO)
    assert after(61) == []
    assert not enqueued(tell_parked)


def test_parked_again_within_the_hour_the_hour_begins_anew(anna, event):
    officers.park(event.pk, **WHO)
    with move_clock(timedelta(minutes=30)):
        officers.release(event.pk, **WHO)
        officers.park(event.pk, **WHO)
    assert len(enqueued(tell_parked)) == 1
    assert after(61) == []
    assert after(89) == []
    assert after(91) == ["anna"]


def test_parked_again_while_the_notice_is_being_written_it_is_told_again(anna, event, monkeypatch):
    officers.park(event.pk, **WHO)
    found = parked_handler._officers

    def parked_meanwhile():
        monkeypatch.setattr(parked_handler, "_officers", found)
        officers.release(event.pk, **WHO)
        officers.park(event.pk, **WHO)
        return found()

    monkeypatch.setattr(parked_handler, "_officers", parked_meanwhile)
    assert after(61) == ["anna"]
    assert after(120) == ["anna"]
    assert after(122) == ["anna", "anna"]


def test_a_park_that_is_rolled_back_leaves_nothing_to_be_told(anna, event):
    class Undone(Exception):
        pass

    with pytest.raises(Undone), transaction.atomic():
        officers.park(event.pk, **WHO)
        raise Undone
    assert not enqueued(tell_parked)


def test_a_request_whose_walks_fail_for_an_hour_is_told_and_one_that_recovers_is_not(anna, event):
    walk_all(RefusingSink())
    with move_clock(timedelta(minutes=30)):
        walk_all(RefusingSink())
    request = request_of(event)
    assert request.failures == 2
    assert after(61) == ["anna"]
    with move_clock(timedelta(minutes=100)):
        walk_all(DatabaseSink())
        assert request_of(event).failing_since is None
        services.arm_event(event)
        make_registration(event)
        walk_all(RefusingSink())
    assert after(150) == ["anna"]
    with move_clock(timedelta(minutes=155)):
        walk_all(DatabaseSink())
    assert after(161) == ["anna"]


def test_failures_that_an_older_worker_ended_are_not_told_nor_counted_on(anna, event):
    walk_all(RefusingSink())
    LeadRequest.objects.update(done=True, failures=0, error_detail="", next_attempt_at=None)
    assert after(61) == []
    with move_clock(timedelta(minutes=70)):
        services.arm_event(event)
        walk_all(RefusingSink())
    assert after(129) == []
    assert after(131) == ["anna"]


def test_only_the_first_failure_in_a_row_costs_more_than_its_one_statement(anna, event):
    def fail():
        LeadRequest.objects.update(next_attempt_at=None)
        with CaptureQueriesContext(connection) as seen:
            walk_all(RefusingSink())
        said = [query["sql"] for query in seen]
        assert [each for each in said if "error_detail = " in each] != []
        return len(said)

    first, second, third = fail(), fail(), fail()
    assert second == third
    assert first == second + 3, "a savepoint (of this test's transaction) and the enqueuing"
    assert len(enqueued(tell_parked)) == 1


def test_a_failing_request_that_is_released_has_its_hour_anew(anna, event):
    walk_all(RefusingSink())
    with move_clock(timedelta(minutes=10)):
        officers.park(event.pk, **WHO)
    assert after(61) == []  # parked for less than an hour
    assert after(71) == ["anna"]
    with move_clock(timedelta(minutes=80)):
        officers.release(event.pk, **WHO)
        walk_all(RefusingSink())
    assert after(135) == ["anna"]
    assert after(141) == ["anna", "anna"]


def test_the_number_of_officers_costs_no_statement_more(event):
    def cost(minutes):
        officers.park(event.pk, **WHO)
        with CaptureQueriesContext(connection) as seen:
            after(minutes)
        officers.release(event.pk, **WHO)
        told = [q["sql"] for q in seen if "auth_" in q["sql"] or "notifications_" in q["sql"]]
        return len(told)

    officer("o1", "release_leadrequest")
    few = cost(61)
    for number in range(2, 40):
        officer(f"o{number}", "release_leadrequest")
    assert cost(61) == few


def test_the_moment_is_a_setting(anna, event, settings):
    settings.LEADS_PARKED_NOTICE = 60
    officers.park(event.pk, **WHO)
    assert after(2) == ["anna"]


def test_other_systems_are_told_once_with_ids_and_no_words_of_people(anna, event):
    officers.park(event.pk, **WHO)
    after(61)
    after(200)
    (job,) = enqueued(dispatch)
    assert job.payload["event_type"] == CATEGORY
    request = request_of(event)
    assert job.payload["data"] == {
        "request_id": str(request.pk),
        "event_id": str(event.pk),
        "event_code": "FAIR",
        "parked": True,
        "since": request.parked_at.isoformat(),
    }
    assert CATEGORY in {each.name for each in subscribable()}


def told(person, event):
    officers.park(event.pk, **WHO)
    after(61)
    return Notification.objects.get(recipient=person)


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_event_and_the_reason_are_for_those_who_may_see_them(anna, event, language):
    bare = officer("bare", "release_leadrequest")
    seen = describe(told(anna, event))
    hidden = describe(Notification.objects.get(recipient=bare))
    kind = category(CATEGORY)
    for subject, shown in ((seen, True), (hidden, False)):
        made = render(kind, subject, language=language)
        for text in (made.text, made.html, made.subject):
            assert ("Night Trains" in text) is shown
        assert ("the CRM moves" in made.text) is shown
        assert f"/admin/leads/leadrequest/{request_of(event).pk}/change/" in made.text
    assert ("parked" if language == "en" else "geparkt") in made.text


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_failure_is_told_with_its_code(anna, event, language):
    walk_all(RefusingSink())
    after(61)
    made = render(
        category(CATEGORY), describe(Notification.objects.get()), language=language
    )  # fmt: skip
    assert "leads.sink_not_wired" in made.text
    assert ("Still failing" if language == "en" else "Weiterhin Fehler") in made.subject


def test_what_goes_on_by_now_is_not_told_any_more(anna, event):
    notice = told(anna, event)
    assert describe(notice) is not None
    officers.release(event.pk, **WHO)
    assert describe(notice) is None
    officers.park(event.pk, **WHO)
    assert describe(notice) is None, "another standstill"
    event.delete()
    assert describe(notice) is None


def test_who_switched_it_off_is_not_told(anna, event):
    with connection.cursor() as cursor:
        cursor.execute("SELECT hubqueue_now()")
        (now,) = cursor.fetchone()
    Preference.objects.create(person=anna, category=CATEGORY, since=now)
    assert told(anna, event).reason == "switched_off"


def test_the_preview_has_what_the_templates_ask_for():
    assert "DEMO-04" in render(category(CATEGORY), sample(), language="en").text


def test_a_request_that_is_gone_leaves_the_job_with_nothing_to_do(anna, event):
    officers.park(event.pk, **WHO)
    LeadRequest.objects.all().delete()
    assert after(61) == []
    assert Job.objects.get(kind="leads.tell_parked").state == "SUCCEEDED"
