"""Officers see how runs stand, and start, stop, verify and pin with a reason and a permission for each."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry

from backups.models import BackupRun, BackupTarget
from hubqueue.models import Job, Operation
from hubqueue.querysets import database_now

pytestmark = pytest.mark.django_db
Run = BackupRun.State
VIEW = "view_backuprun"
LIST = "/admin/backups/backuprun/"
TARGETS = "/admin/backups/backuptarget/"
YES = {"confirmed": "1", "reason": "the audit asks"}


def text(answer):
    return answer.content.decode()


def page(client, run):
    return text(client.get(f"{LIST}{run.pk}/change/"))


def do(client, run, word, **said):
    return client.post(f"{LIST}{run.pk}/do/{word}/", {**YES, **said}, follow=True)


def test_the_list_says_of_each_run_how_it_stands(officer, made):
    made(Run.RUNNING, share=0.25, days=0)
    made(Run.FAILED, code="backups.target_full", days=2)
    made(bytes=5 * 1024 * 1024, findings=["backups.member_damaged"], days=3)
    made(expiring_at=database_now("default"), days=4, tenant="<b>acme</b>")
    said = text(officer(VIEW).get(LIST))
    assert all(each in said for each in ("Running", "Failed", "Succeeded", "Being deleted"))
    assert 'value="25"' in said
    assert "Not sound" in said
    assert "5.0\xa0MB" in said
    assert "Tenant &lt;b&gt;acme&lt;/b&gt;" in said


def test_the_list_reads_the_same_number_of_times_however_many_runs(
    officer, made, django_assert_max_num_queries
):
    client = officer(VIEW)
    for days in range(30):
        made(days=days)
    with django_assert_max_num_queries(9):
        client.get(LIST)


def test_an_empty_list_says_what_to_do(officer, target):
    assert "Back up now on the page of a" in text(officer(VIEW).get(LIST))


def test_a_lookup_into_the_target_is_refused(officer, made):
    made()
    refused = officer(VIEW).get(f"{LIST}?target__credential__startswith=a")
    assert refused.status_code in {302, 400}


def test_without_the_permission_there_are_no_pages(officer, made, schedule):
    client, run = officer(), made()
    for address in (LIST, f"{LIST}{run.pk}/change/", f"{LIST}generations/{schedule.pk}/"):
        assert client.get(address).status_code == 403
    assert do(client, run, "pin", until="2999-01-01").status_code == 403


def test_only_the_page_of_a_running_run_follows_by_itself(officer, made):
    client = officer(VIEW)
    running, ended = made(Run.RUNNING, share=0.4), made()
    assert 'http-equiv="refresh"' in page(client, running)
    assert 'value="40"' in page(client, running)
    assert 'http-equiv="refresh"' not in page(client, ended)


def test_a_run_that_failed_and_an_archive_that_is_not_sound_say_why_in_words(officer, made):
    client = officer(VIEW)
    failed = made(Run.FAILED, code="backups.target_full")
    assert "There is no room left at the target. (backups.target_full)" in page(client, failed)
    codes = ["backups.member_damaged", "backups.of_tomorrow"]
    unsound = page(client, made(verified_at=database_now("default"), findings=codes, days=2))
    assert "A member is not what was written. (backups.member_damaged)" in unsound
    assert "backups.of_tomorrow" in unsound


def test_who_may_only_look_is_offered_no_verb_and_can_do_none(officer, made):
    client, whole, running = officer(VIEW), made(), made(Run.RUNNING, days=0)
    assert "/do/" not in page(client, whole) + page(client, running)
    for run, word in ((running, "cancel"), (whole, "verify"), (whole, "unpin"), (whole, "pin")):
        assert "You may not" in text(do(client, run, word, until="2999-01-01"))
    assert not Operation.objects.exists()
    assert not LogEntry.objects.exists()


def test_a_pin_holds_until_the_day_and_is_in_the_log_with_who_and_why(officer, made):
    client, run = officer(VIEW, "pin_backuprun"), made()
    assert "Until" in text(client.get(f"{LIST}{run.pk}/do/pin/"))
    said = text(do(client, run, "pin", until="2999-01-01"))
    assert "Pinned: no plan deletes it before 2999-01-01 00:00 UTC." in said
    assert Operation.objects.get().actor == "ada"
    assert LogEntry.objects.get().change_message == "Pin: the audit asks"
    do(client, run, "unpin")
    run.refresh_from_db()
    assert run.pinned_until is None
    assert [each.verb for each in Operation.objects.order_by("id")] == [
        "backups.pin",
        "backups.unpin",
    ]


@pytest.mark.parametrize("until", ["2001-01-01", "", "soon"])
def test_a_pin_that_ends_before_it_begins_is_asked_again(officer, made, until):
    client, run = officer(VIEW, "pin_backuprun"), made()
    assert "errornote" in text(do(client, run, "pin", until=until))
    run.refresh_from_db()
    assert run.pinned_until is None


def test_what_is_being_deleted_cannot_be_pinned_or_verified(officer, made):
    client = officer(VIEW, "pin_backuprun", "verify_backuprun")
    run = made(expiring_at=database_now("default"))
    assert "/do/" not in page(client, run)
    for word in ("pin", "verify"):
        assert "backups.archive_missing" in text(do(client, run, word, until="2999-01-01"))
    assert not Job.objects.exists()


def test_verify_queues_a_verification_once(officer, made):
    client, run = officer(VIEW, "verify_backuprun"), made()
    for _ in range(2):
        assert "a verification is queued" in text(do(client, run, "verify"))
    assert Job.objects.get().kind == "backups.verify"


def test_an_archive_that_is_not_sound_is_deleted_when_its_name_was_typed(officer, made):
    client = officer(VIEW, "remove_backuprun")
    sound, run = made(), made(days=2, findings=["backups.member_damaged"])
    assert "/do/remove/" not in page(client, sound)
    assert "/do/remove/" in page(client, run)
    assert "errornote" in text(do(client, run, "remove", typed="all"))
    assert "backups.archive_kept" in text(do(client, sound, "remove", typed="all-1"))
    assert not Operation.objects.exists()
    said = text(do(client, run, "remove", typed="all-2"))
    assert "Its archive is being deleted: it was not sound" in said
    assert (Operation.objects.get().verb, Job.objects.get().kind) == (
        "backups.remove",
        "backups.sweep",
    )
    assert LogEntry.objects.get().change_message == "Delete: the audit asks"


def test_back_up_now_starts_a_run_and_leads_to_it_and_cancel_ends_it(officer, target):
    client = officer("view_backuptarget", VIEW, "start_backuprun", "cancel_backuprun")
    assert "Back up now" in text(client.get(f"{TARGETS}{target.pk}/change/"))
    assert "Why?" in text(client.get(f"{TARGETS}{target.pk}/start/now/"))
    assert not BackupRun.objects.exists()
    said = text(client.post(f"{TARGETS}{target.pk}/start/now/", YES, follow=True))
    run = BackupRun.objects.get()
    assert (run.asked_by, run.trigger) == ("ada", "manual")
    assert f"{LIST}{run.pk}/do/cancel/" in said
    do(client, run, "cancel")
    run.refresh_from_db()
    assert run.state == Run.CANCELLED
    assert "backups.run_ended" in text(do(client, run, "cancel"))


def test_a_target_that_is_not_enabled_is_not_offered_and_refuses(officer, target):
    client = officer("view_backuptarget", "start_backuprun")
    BackupTarget.objects.update(enabled=False)
    assert "Back up now" not in text(client.get(f"{TARGETS}{target.pk}/change/"))
    said = text(client.post(f"{TARGETS}{target.pk}/start/now/", YES, follow=True))
    assert "backups.target_disabled" in said


def test_the_generations_say_what_is_kept_and_what_goes_next(officer, made, schedule):
    client = officer(VIEW, "view_backuptarget", "view_backupschedule")
    address = f"{LIST}generations/{schedule.pk}/"
    assert "There is no archive of this schedule yet." in text(client.get(address))
    for days in range(1, 40):
        made(days=days, schedule=schedule, verified_at=database_now("default"))
    said = text(client.get(address))
    assert "Next to go, after the next run of this schedule that works" in said
    assert "Every archive in words" in said
    assert address in text(client.get(f"{TARGETS}{schedule.target_id}/change/"))
    assert address in text(client.get(f"/admin/backups/backupschedule/{schedule.pk}/change/"))
    type(schedule).objects.update(zone="Mars/Base")
    assert "cannot be read, so nothing expires" in text(client.get(address))


def test_the_first_page_tells_of_each_target_what_worked_and_what_is_wrong(officer, made):
    client = officer(VIEW)
    made(days=3, findings=["backups.member_damaged"])
    made(Run.FAILED, days=2)
    made(Run.RUNNING, days=0, share=0.5)
    said = text(client.get("/admin/"))
    assert "Backups now" in said
    assert "3 days ago" in said
    assert all(each in said for each in ("last run failed", "archive not sound", 'value="50"'))


def test_the_first_page_says_what_to_do_without_a_target_and_nothing_to_others(officer, client):
    client = officer(VIEW, "add_backuptarget")
    assert "Nothing is backed up: there is no target yet." in text(client.get("/admin/"))
    client.get("/admin/").wsgi_request.user.user_permissions.clear()
    assert "Backups now" not in text(client.get("/admin/"))


def test_a_pin_that_is_over_is_not_told(officer, made):
    run = made(pinned_until=database_now("default") - timedelta(days=1))
    assert "Pinned" not in page(officer(VIEW), run)


def test_a_run_that_was_asked_to_be_incremental_and_is_full_says_why(officer, made):
    said = page(officer(VIEW), made(promoted="backups.other_history"))
    assert "It was to hold what changed only, but is full: The database is another one" in said
