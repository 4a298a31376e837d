"""Officers make schedules in words, and see when they fire."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from backups.models import BackupRun, BackupSchedule, BackupTarget
from hubqueue.models import Job
from hubqueue.querysets import database_now
from hubqueue.testing import move_clock
from tests.backups.schedules.conftest import MakeSchedule
from tests.leads.made import make_event

pytestmark = pytest.mark.django_db
ADD = "admin:backups_backupschedule_add"
LIST = "admin:backups_backupschedule_changelist"


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("boss"))
    return client


def page(schedule: BackupSchedule) -> str:
    return reverse("admin:backups_backupschedule_change", args=[schedule.pk])


def form(target: BackupTarget, **given: Any) -> dict[str, Any]:
    keeps = {
        "keep_last": 7,
        "keep_daily": 14,
        "keep_weekly": 8,
        "keep_monthly": 12,
        "keep_yearly": 3,
    }
    return {
        "name": "Nightly",
        "target": str(target.pk),
        "tenant": "",
        "content": "rows",
        "enabled": "on",
        "rule": "30 2 * * *",
        "zone": "Europe/Berlin",
        "min_keep": 3,
        "notify_on": ["failure"],
        **keeps,
        **given,
    }


def test_a_schedule_is_made_and_owes_its_next_moment(boss: Client, make: MakeSchedule) -> None:
    target = make().target
    said = boss.post(reverse(ADD), form(target))
    assert said.status_code == 302
    made = BackupSchedule.objects.get(name="Nightly")
    assert made.next_run_at is not None
    assert (made.tenant, made.full_rule, made.notify_on) == (None, "", ["failure"])
    make_event(tenant_id="beta")
    boss.post(reverse(ADD), form(target, name="Of beta", tenant="beta"))
    assert Job.objects.unfinished_with_key("backups.schedule", "beta").exists()


REFUSED = {
    "the rule": ({"rule": "* * * * *"}, "rule", "A rule fires every 5 minutes at most"),
    "30 February": ({"rule": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"}, "rule", "never does"),
    "the full rule": (
        {"full_rule": "* * * * *"},
        "full_rule",
        "A rule fires every 5 minutes at most",
    ),
    "a full rule of a tenant": (
        {"full_rule": "0 2 * * 0", "tenant": "acme"},
        "full_rule",
        "of a tenant and of the whole database are always full",
    ),
    "a full rule of the system": (
        {"full_rule": "0 2 * * 0", "content": "system"},
        "full_rule",
        "of a tenant and of the whole database are always full",
    ),
    "the zone": ({"zone": "Europe/Nowhere"}, "zone", "timezone must be a name of the IANA"),
    "the floor": ({"min_keep": 0}, "min_keep", "must be at least 1"),
    "the content": ({"content": "else"}, "content", "Select a valid choice"),
    "the tenant": ({"tenant": "x" * 65}, "tenant", "at most 64 characters"),
    "no tenant": (
        {"tenant": "acem"},
        "tenant",
        "got &#x27;acem&#x27;, which no row and no archive",
    ),
    "the notices": ({"notify_on": ["never"]}, "notify_on", "Select a valid choice"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=list(REFUSED))
def test_what_cannot_be_used_is_refused_in_words(
    boss: Client, make: MakeSchedule, case: tuple[dict[str, Any], str, str]
) -> None:
    given, field, words = case
    make_event(tenant_id="acme")
    said = boss.post(reverse(ADD), form(make().target, **given))
    assert said.status_code == 200
    errors = said.context["adminform"].form.errors
    assert list(errors) == [field]
    assert words in str(errors[field])


def test_a_schedule_of_a_tenant_that_is_gone_can_still_be_edited(
    boss: Client, make: MakeSchedule
) -> None:
    schedule = make(tenant="gone")
    given = form(schedule.target, name="Hourly", tenant="gone")
    del given["enabled"]
    assert boss.post(page(schedule), given).status_code == 302
    schedule.refresh_from_db()
    assert not schedule.enabled


def test_the_page_tells_the_next_five_moments_in_the_zone_and_in_utc(
    boss: Client, make: MakeSchedule
) -> None:
    schedule = make(rule="FREQ=DAILY;BYHOUR=2;BYMINUTE=30", zone="Asia/Kolkata")
    said = boss.get(page(schedule))
    moments = said.context["moments"]
    assert len(moments) == 5
    assert all(each.local.endswith("02:30 +0530") for each in moments)
    assert all(each.utc.endswith("21:00") for each in moments)
    assert {each.kind for each in moments} == {"full"}
    assert "It never ran." in said.context["sentences"]


def test_the_page_tells_which_of_them_are_full(boss: Client, make: MakeSchedule) -> None:
    given = {"rule": "0 */6 * * *", "full_rule": "0 3 * * *"}
    assert boss.post(reverse(ADD), form(make().target, **given)).status_code == 302
    schedule = BackupSchedule.objects.get(name="Nightly")
    moments = boss.get(page(schedule)).context["moments"]
    assert {each.kind for each in moments} == {"full", "what changed"}
    for each in moments:
        assert (each.kind == "full") == (" 00:00" in each.local)


def test_the_page_tells_how_the_last_run_went(boss: Client, make: MakeSchedule) -> None:
    schedule = make()
    BackupRun.objects.create(
        target=schedule.target,
        schedule=schedule,
        trigger="schedule",
        state="FAILED",
        code="backups.target_full",
        finished_at=database_now("default"),
    )
    said = "".join(map(str, boss.get(page(schedule)).context["sentences"]))
    assert "failed with backups.target_full." in said


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"unreadable": True, "next_run_at": None, "rule": "no rule"}, "cannot be read any more"),
        ({"enabled": False, "next_run_at": None}, "It is not enabled"),
        ({"next_run_at": None}, "Its rule has ended"),
        ({"zone": "Europe/Nowhere"}, "The next run is owed"),
    ],
    ids=["unreadable", "disabled", "ended", "a zone that was dropped"],
)
def test_the_page_tells_why_nothing_is_owed(
    boss: Client, make: MakeSchedule, given: dict[str, Any], words: str
) -> None:
    schedule = make()
    BackupSchedule.objects.filter(pk=schedule.pk).update(**given)
    said = boss.get(page(schedule))
    assert words in "".join(map(str, said.context["sentences"]))
    assert said.context["moments"] == []
    assert boss.get(reverse(LIST)).status_code == 200


def test_an_officer_who_enables_a_target_makes_its_schedules_owe_from_now_on(
    boss: Client, make: MakeSchedule
) -> None:
    schedule = make()
    target = schedule.target
    BackupTarget.objects.update(enabled=False)
    given = {
        "name": target.name,
        "config": '{"path": "x"}',
        "encryption": "client",
        "enabled": "on",
    }
    with move_clock(timedelta(days=3)):
        address = reverse("admin:backups_backuptarget_change", args=[target.pk])
        assert boss.post(address, given).status_code == 302
        assert BackupSchedule.objects.get().next_run_at > database_now("default")


def test_each_verb_needs_its_own_permission(client: Client, make: MakeSchedule) -> None:
    schedule = make()
    officer = User.objects.create_user("viewer", is_staff=True)
    client.force_login(officer)
    assert client.get(page(schedule)).status_code == 403
    officer.user_permissions.add(Permission.objects.get(codename="view_backupschedule"))
    assert client.get(page(schedule)).status_code == 200
    assert client.post(page(schedule), form(schedule.target)).status_code == 403
    assert client.get(reverse(ADD)).status_code == 403
    assert BackupSchedule.objects.get().name == "Hourly"
