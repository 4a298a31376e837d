"""What a schedule's plan does not keep goes after a run that worked, and nothing else ever does."""

import logging
from datetime import timedelta

import pytest

from backups import decisions
from backups.archive.read import open_archive
from backups.decisions import decisions_of
from backups.deletion import delete_directory
from backups.expire_handler import expire_archives, expire_later
from backups.expiry import expire, expire_after
from backups.models import BackupRun
from backups.retention.rule import expiring
from backups.services import request_run
from hubqueue.testing import enqueued, move_clock, run_due_jobs
from notifications.models import Notification
from tests.backups.archive.made import RING, read, write
from tests.backups.keeping.made import (
    Dying,
    Keeping,
    Killed,
    Run,
    Silent,
    ago,
    archive,
    complete,
    run,
    states,
)

pytestmark = pytest.mark.django_db


def test_what_the_plan_does_not_keep_goes_oldest_first_and_checksums_before_the_rest(
    store, schedule
):
    old, older = archive(store, schedule, days=2), archive(store, schedule, days=3)
    new = archive(store, schedule, days=1)
    store.asked.clear()
    assert expire_after(new, store) == 2
    assert states(new, old, older) == ["SUCCEEDED", "EXPIRED", "EXPIRED"]
    assert [each.name for each in store.root.iterdir()] == [new.archive]
    assert read(store, new.archive)
    deleted = [name.split("/", 1) for verb, name in store.asked if verb == "delete"]
    assert [each[0] for each in deleted] == [older.archive] * 7 + [old.archive] * 7
    assert deleted[0][1] == deleted[7][1] == "checksums.txt"


@pytest.mark.parametrize("state", [Run.FAILED, Run.CANCELLED, Run.RUNNING, Run.EXPIRED])
def test_a_run_that_did_not_work_deletes_nothing(store, schedule, state):
    archive(store, schedule, days=3), archive(store, schedule, days=2)
    last = run(schedule.target, started=ago(hours=1), state=state, schedule=schedule)
    assert expire_after(last, store) == 0
    assert len(complete(store)) == 2


def test_a_run_without_a_schedule_deletes_nothing(store, schedule):
    archive(store, schedule, days=3), archive(store, schedule, days=2)
    by_hand = archive(store, schedule, days=1)
    BackupRun.objects.filter(pk=by_hand.pk).update(schedule=None)
    assert expire_after(by_hand, store) == 0
    assert len(complete(store)) == 3


def test_nothing_goes_while_the_newest_run_of_the_schedule_failed_whoever_calls(store, schedule):
    archive(store, schedule, days=3), archive(store, schedule, days=2)
    run(schedule.target, started=ago(days=1), state=Run.FAILED, schedule=schedule)
    assert expire(schedule, store) == 0
    archive(store, schedule, days=0)
    assert expire(schedule, store) == 2


def test_what_is_foreign_unfinished_running_or_of_others_is_not_touched(store, schedule, target):
    for name in ("photos/cat.jpg", "hubqueue-backup-notes/data/a.txt", "readme"):
        store.put(name, [b"mine"])
    others = schedule.__class__.objects.create(
        name="Other", target=target, tenant="acme", rule="0 4 * * *", keep_last=1, min_keep=1
    )
    kept = [
        archive(store, others, days=9, tenant="acme"),
        archive(store, schedule, days=9, content="system"),
        archive(store, schedule, days=9, verified_at=None),
        archive(store, schedule, days=9, findings=["backups.member_damaged"]),
        archive(store, schedule, days=9, trigger="manual"),
        archive(store, schedule, days=99, pinned_until=ago(days=-1)),
    ]
    unfinished = archive(store, schedule, days=5, state=Run.FAILED)
    store.delete(f"{unfinished.archive}/checksums.txt")
    new = archive(store, schedule, days=1)
    run(target, started=ago(hours=1), state=Run.RUNNING, schedule=schedule)
    before = [each.name for each in store.list()]
    assert expire_after(new, store) == 0
    assert [each.name for each in store.list()] == before
    assert states(*kept) == ["SUCCEEDED"] * 6


def test_of_two_schedules_of_one_scope_each_keeps_what_its_plan_says(store, schedule, target):
    nothing = dict.fromkeys(("keep_daily", "keep_weekly", "keep_monthly", "keep_yearly"), 0)
    three = {**nothing, "keep_last": 3, "min_keep": 1}
    other = schedule.__class__.objects.create(
        name="Three", target=target, rule="0 4 * * *", enabled=False, **three
    )
    made = [archive(store, schedule, days=days) for days in (5, 4, 3, 2)]
    assert expire_after(archive(store, schedule, days=1), store) == 2
    assert states(*made) == ["EXPIRED", "EXPIRED", "SUCCEEDED", "SUCCEEDED"]
    schedule.__class__.objects.filter(pk=other.pk).update(zone="Nowhere/Land")
    assert expire(schedule, store) == 0
    other.delete()
    assert expire(schedule, store) == 2
    assert len(complete(store)) == 1


def test_the_parent_of_what_stays_and_of_what_runs_stays(store, schedule, target):
    full = archive(store, schedule, days=3)
    part = {"mode": "incremental", "parent": full}
    new = archive(store, schedule, days=1, **part)
    assert expire_after(new, store) == 0
    newest = archive(store, schedule, days=0)
    run(target, started=ago(minutes=1), state=Run.RUNNING, schedule=schedule, **part)
    assert expire_after(newest, store) == 1
    assert states(full, new, newest) == ["SUCCEEDED", "EXPIRED", "SUCCEEDED"]


def test_an_object_that_is_kept_is_told_and_the_others_go_on(volume, schedule, caplog):
    with Keeping(volume / "target") as store:
        oldest, old = archive(store, schedule, days=3), archive(store, schedule, days=2)
        new = archive(store, schedule, days=1)
        store.kept = [f"{oldest.archive}/data/leads.lead.jsonl.zst"]
        with caplog.at_level(logging.WARNING, "backups"):
            assert expire_after(new, store) == 1
        assert "backups.object_kept" in caplog.text
        assert str(oldest.pk) in caplog.text
        assert states(oldest, old, new) == ["SUCCEEDED", "EXPIRED", "SUCCEEDED"]
        assert complete(store) == [new.archive]
        assert len(list(store.list(f"{oldest.archive}/"))) == 1
        store.kept = []
        assert expire_after(new, store) == 1
    assert states(oldest) == ["EXPIRED"]


def test_an_archive_whose_checksums_are_kept_stays_whole_and_counts_as_before(volume, schedule):
    with Keeping(volume / "target") as store:
        oldest, old = archive(store, schedule, days=3), archive(store, schedule, days=2)
        new = archive(store, schedule, days=1)
        store.kept = [f"{oldest.archive}/checksums.txt"]
        assert expire_after(new, store) == 1
        assert states(oldest, old) == ["SUCCEEDED", "EXPIRED"]
        assert BackupRun.objects.get(pk=oldest.pk).expiring_at is None
        assert read(store, oldest.archive)


def test_a_target_that_does_not_answer_is_told_by_its_code_and_not_raised(volume, schedule, caplog):
    with Silent(volume / "target") as store:
        old, new = archive(store, schedule, days=2), archive(store, schedule, days=1)
        with caplog.at_level(logging.ERROR, "backups"):
            assert expire_after(new, store) == 0
    assert caplog.messages == [
        f"archives of schedule {schedule.pk} did not expire: backups.target_unreachable"
    ]
    assert BackupRun.objects.get(pk=old.pk).expiring_at is not None


@pytest.mark.parametrize("wrong", [{"zone": "Nowhere/Land"}, {"zone": "/etc"}])
def test_a_schedule_that_cannot_be_read_deletes_nothing_and_raises_nothing(
    store, schedule, wrong, caplog
):
    schedule.__class__.objects.filter(pk=schedule.pk).update(**wrong)
    archive(store, schedule, days=2)
    with caplog.at_level(logging.ERROR, "backups"):
        assert expire_after(archive(store, schedule, days=1), store) == 0
    assert "did not expire: exception" in caplog.text
    assert len(complete(store)) == 2


@pytest.mark.parametrize("steps", range(15))
def test_whoever_dies_between_two_deletions_is_followed_by_the_next_expiry(volume, schedule, steps):
    """After each step: no half archive is listed as complete or counted, and the end is the same."""
    with Dying(volume / "target") as store:
        oldest, old = archive(store, schedule, days=3), archive(store, schedule, days=2)
        new = archive(store, schedule, days=1)
        store.steps = steps
        if steps < 14:
            with pytest.raises(Killed):
                expire_after(new, store)
        else:
            assert expire_after(new, store) == 2
        for name in complete(store):
            assert open_archive(store, name, RING)
        counted = [each.archive.id for each in decisions_of(schedule) if not each.expires]
        marked = BackupRun.objects.filter(state=Run.SUCCEEDED, expiring_at__isnull=False)
        assert not expiring(decisions_of(schedule))
        assert str(new.pk) in counted
        assert marked.count() == (2 if steps < 7 else 1 if steps < 14 else 0)
        store.steps = 99
        newer = archive(store, schedule, days=0)
        expire_after(newer, store)
    assert states(oldest, old, new, newer) == ["EXPIRED"] * 3 + ["SUCCEEDED"]
    assert [each.name for each in (volume / "target").iterdir()] == [newer.archive]


def test_an_expiry_that_meets_another_does_the_same_thing_twice(volume, schedule):
    """The second runs wholly between two deletions of the first."""

    class Meeting(Dying):
        def delete(self, name):
            if self.steps == 3:
                self.steps = 99
                with Dying(volume / "target") as other:
                    other.steps = 99
                    assert expire_after(new, other) == 2
            super().delete(name)

    with Meeting(volume / "target") as store:
        oldest, old = archive(store, schedule, days=3), archive(store, schedule, days=2)
        new = archive(store, schedule, days=1)
        store.steps = 6
        expire_after(new, store)
        assert states(oldest, old, new) == ["EXPIRED", "EXPIRED", "SUCCEEDED"]
        assert complete(store) == [new.archive]


def test_what_is_pinned_between_decision_and_mark_stays(store, schedule):
    """The decision is taken anew from the rows under the lock."""
    old = archive(store, schedule, days=2)
    archive(store, schedule, days=1)
    assert [each.id for each in expiring(decisions_of(schedule))] == [str(old.pk)]
    BackupRun.objects.filter(pk=old.pk).update(pinned_until=ago(days=-1))
    assert expire(schedule, store) == 0
    assert len(complete(store)) == 2


def test_a_dry_run_changes_nothing_and_may_ask_of_another_moment(store, schedule):
    archive(store, schedule, days=2), archive(store, schedule, days=1, trigger="manual")
    archive(store, schedule, days=0)
    assert len(expiring(decisions_of(schedule))) == 1
    later = ago(days=-60)
    assert len(expiring(decisions_of(schedule, now=later))) == 2
    assert len(complete(store)) == 3
    assert not BackupRun.objects.filter(expiring_at__isnull=False).exists()


def test_only_a_directory_with_an_archives_name_is_deleted(store):
    write(store)
    for name in ("", "photos", "hubqueue-backup-x", "../target"):
        with pytest.raises(ValueError, match="only an archive"):
            delete_directory(name, store)
    assert len(complete(store)) == 1


def test_failed_runs_of_long_ago_are_not_told_any_more(schedule, target):
    for days in (1, 6, 8, 400):
        run(target, started=ago(days=days), state=Run.FAILED, schedule=schedule)
    assert len(decisions_of(schedule)) == 2
    assert timedelta(days=7) == decisions.UNFINISHED_FOR


def test_the_commit_that_closes_a_run_well_queues_its_expiry(store, schedule):
    old, new = archive(store, schedule, days=2), archive(store, schedule, days=1)
    assert expire_later(new) == expire_later(new)
    run_due_jobs(kinds=[expire_archives], raise_failures=True)
    assert states(old, new) == ["EXPIRED", "SUCCEEDED"]
    assert complete(store) == [new.archive]


@pytest.mark.parametrize("state", [Run.FAILED, Run.CANCELLED, Run.RUNNING])
def test_no_other_end_of_a_run_queues_one(store, schedule, state):
    archive(store, schedule, days=2)
    assert expire_later(run(schedule.target, started=ago(hours=1), state=state)) is None
    by_hand = run(schedule.target, started=ago(hours=2))
    assert expire_later(by_hand) is None
    assert not enqueued(expire_archives)


def test_an_expiry_whose_target_cannot_be_opened_gives_up_and_says_so(
    store, schedule, settings, caplog
):
    expire_later(archive(store, schedule, days=1))
    settings.BACKUPS_VOLUME = "/nowhere/at/all"
    with caplog.at_level(logging.ERROR, "backups"):
        for times in range(4):
            with move_clock(expire_archives.backoff.cap * times):
                run_due_jobs(kinds=[expire_archives])
    assert "did not expire: backups.target_unreachable" in caplog.text
    assert not enqueued(expire_archives)


def test_a_scheduled_run_that_worked_ends_with_its_expiry_and_its_notice(
    store, schedule, target, officer
):
    officer("root", is_superuser=True)
    schedule.notify_on = ["success"]
    schedule.save()
    old = archive(store, schedule, days=2)
    new = request_run(target, trigger="schedule", schedule=schedule)
    run_due_jobs(kinds=["backups.run", "backups.expire"], raise_failures=True)
    assert states(old, new) == ["EXPIRED", "SUCCEEDED"]
    assert complete(store) == [new.archive]
    (told,) = Notification.objects.all()
    assert (told.category, told.subject_id) == ("backups.run_succeeded", str(new.pk))


def test_a_run_that_failed_for_good_is_told_and_expires_nothing(
    store, schedule, target, officer, settings
):
    officer("root", is_superuser=True)
    old = archive(store, schedule, days=2)
    archive(store, schedule, days=1)
    new = request_run(target, trigger="schedule", schedule=schedule)
    settings.BACKUPS_KEYS = ""
    run_due_jobs(kinds=["backups.run", "backups.expire"])
    assert states(old, new) == ["SUCCEEDED", "FAILED"]
    assert len(complete(store)) == 2
    assert [each.category for each in Notification.objects.all()] == ["backups.run_failed"]
