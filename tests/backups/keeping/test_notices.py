"""Officers hear of the ends of runs that the schedule names: once per run."""

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import connection
from prometheus_client import REGISTRY

from backups.categories import CATEGORIES
from backups.metrics import last_successes
from backups.models import BackupTarget
from backups.notices import tell_end_of
from hubqueue import gauges
from notifications.models import Notification
from tests.backups.keeping.made import Run, ago, run

pytestmark = pytest.mark.django_db
MAY = ("start_backuprun", "view_backuprun")


@pytest.fixture
def ended(schedule):
    def make(state, *, days=1, wants=("failure",), **fields):
        schedule.notify_on = list(wants)
        schedule.save()
        said = {"state": state, "schedule": schedule, **fields}
        return run(schedule.target, started=ago(days=days), **said)

    return make


def told(row):
    tell_end_of(row)
    tell_end_of(row)
    rows = Notification.objects.filter(subject_id=str(row.pk)).order_by("id")
    return [(each.recipient.username, each.category.partition(".")[2]) for each in rows]


ALL = ("failure", "success", "first_success_after_failure")


@pytest.mark.parametrize(
    ("before", "state", "wants", "category"),
    [
        (None, Run.FAILED, ("failure",), "run_failed"),
        (None, Run.FAILED, ALL[1:], None),
        (None, Run.FAILED, (), None),
        (Run.FAILED, Run.FAILED, ALL, "run_failed"),
        (None, Run.SUCCEEDED, ("failure",), None),
        (None, Run.SUCCEEDED, ("success",), "run_succeeded"),
        (Run.FAILED, Run.SUCCEEDED, ("success",), "run_succeeded"),
        (Run.FAILED, Run.SUCCEEDED, ("failure",), None),
        (Run.FAILED, Run.SUCCEEDED, ALL, "run_recovered"),
        (Run.FAILED, Run.SUCCEEDED, ("first_success_after_failure",), "run_recovered"),
        (None, Run.SUCCEEDED, ("first_success_after_failure",), None),
        (Run.SUCCEEDED, Run.SUCCEEDED, ("first_success_after_failure",), None),
        (Run.EXPIRED, Run.SUCCEEDED, ALL, "run_succeeded"),
        (None, Run.CANCELLED, ALL, None),
    ],
)
def test_what_is_told_of_which_end(ended, officer, before, state, wants, category):
    officer("anna", *MAY)
    if before:
        ended(Run.FAILED if before == Run.EXPIRED else Run.SUCCEEDED, days=9)
        ended(before, days=3)
    ended(Run.CANCELLED, days=2)
    assert told(ended(state, wants=wants)) == ([("anna", category)] if category else [])


def test_those_are_told_who_may_start_backups_look_at_them_and_work_here(ended, officer):
    officer("anna", *MAY)
    by_group, group = officer("grace"), Group.objects.create(name="backups")
    group.permissions.set(Permission.objects.filter(codename__in=MAY))
    by_group.groups.add(group)
    officer("root", is_superuser=True)
    officer("looks", "view_backuprun")
    officer("blind", "start_backuprun")
    officer("guest", *MAY, is_staff=False)
    officer("left", *MAY, is_active=False)
    assert sorted(name for name, _ in told(ended(Run.FAILED))) == ["anna", "grace", "root"]


def test_a_run_without_a_schedule_tells_nobody_and_a_running_one_is_refused(ended, officer, target):
    officer("anna", *MAY)
    assert told(run(target, started=ago(days=1), state=Run.FAILED)) == []
    with pytest.raises(ValueError, match="is running"):
        tell_end_of(ended(Run.RUNNING))


def test_the_message_tells_schedule_target_and_code_to_who_may_still_look(ended, officer):
    anna = officer("anna", *MAY)
    row = ended(Run.FAILED, code="backups.target_full")
    tell_end_of(row)
    (notice,) = Notification.objects.all()
    about = next(each for each in CATEGORIES if each.name == notice.category)
    values = about.describe(notice).values
    assert (values["schedule"], values["target"], values["code"]) == (
        "Every night",
        "Cellar",
        "backups.target_full",
    )
    anna.user_permissions.clear()
    assert about.describe(Notification.objects.get()) is None


def test_the_last_success_of_a_target_is_published_and_absent_when_there_never_was_one(
    ended, target
):
    BackupTarget.objects.create(name="Never", kind="local")

    def published():
        with connection.cursor() as cursor:
            (family,) = last_successes(cursor)
        return {each.labels["target"]: each.value for each in family.samples}

    ended(Run.FAILED, days=5)
    assert published() == {}
    last = ended(Run.SUCCEEDED, days=4)
    ended(Run.FAILED, days=3)
    assert published() == {"Cellar": pytest.approx(last.finished_at.timestamp())}
    expired = ended(Run.EXPIRED, days=2)
    assert published() == {"Cellar": pytest.approx(expired.finished_at.timestamp())}


def test_a_scrape_shows_the_reading_and_outlives_one_that_fails(ended, monkeypatch):
    ended(Run.SUCCEEDED)

    def refused(cursor):
        cursor.execute("SELECT * FROM no_such_table")
        yield from ()

    monkeypatch.setattr(gauges, "_readings", {"bad": refused, **gauges._readings})
    with connection.cursor() as cursor:
        picture = gauges.scrape(cursor)
    assert [each.name for each in picture.others] == ["backup_last_success_timestamp_seconds"]


def test_runs_are_counted_with_their_duration_and_bytes(ended, django_capture_on_commit_callbacks):
    def value(name, **labels):
        return REGISTRY.get_sample_value(name, labels) or 0

    names = [("backups_run_seconds_sum", {"state": "SUCCEEDED"}), ("backups_run_bytes_sum", {})]
    before = [value(name, **labels) for name, labels in names]
    with django_capture_on_commit_callbacks(execute=True):
        tell_end_of(ended(Run.SUCCEEDED, bytes=500))
    after = [value(name, **labels) for name, labels in names]
    assert [b - a for a, b in zip(before, after, strict=True)] == [60, 500]
