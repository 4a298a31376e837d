"""Officers hear of a schedule whose newest backup is older than two of its periods: once per staleness."""

from datetime import UTC, datetime, timedelta

import pytest

from backups.freshness import tell_stale
from backups.models import BackupSchedule
from backups.stale_notice import describe
from hubqueue.registry import registry
from hubqueue.testing import move_clock
from notifications.models import Notification
from tests.backups.keeping.made import Run, ago, run

pytestmark = pytest.mark.django_db


@pytest.fixture
def nightly(schedule, officer):
    """Its days are two and a half days old when no hour of the day is known: the rule fires at this hour."""
    officer("anna", "start_backuprun", "view_backuprun")
    officer("looks", "view_backuprun")
    hour = (ago(hours=2)).astimezone(UTC).hour
    BackupSchedule.objects.filter(pk=schedule.pk).update(
        rule=f"0 {hour} * * *", created_at=ago(days=30)
    )
    schedule.refresh_from_db()
    return schedule


def told():
    tell_stale()
    tell_stale()
    return [each.recipient.username for each in Notification.objects.order_by("id")]


def worked(schedule, state=Run.SUCCEEDED, **since):
    return run(schedule.target, started=ago(**since), state=state, schedule=schedule)


def test_one_that_missed_a_night_is_not_told_and_one_that_missed_two_is_once(nightly):
    worked(nightly, days=1)
    worked(nightly, state=Run.FAILED, hours=1)
    assert told() == []
    with move_clock(timedelta(days=1)):
        assert told() == ["anna"]
    with move_clock(timedelta(days=9)):
        assert told() == ["anna"]
        notice = Notification.objects.get()
        values = describe(notice).values
        assert (values["schedule"], values["target"]) == ("Every night", "Cellar")
        assert values["last"]
        worked(nightly, minutes=5)
        assert describe(notice) is None
        assert told() == ["anna"]
    with move_clock(timedelta(days=12)):
        assert told() == ["anna", "anna"]


def test_an_archive_that_expired_was_a_success_too(nightly):
    worked(nightly, state=Run.EXPIRED, hours=1)
    assert told() == []


def test_one_that_never_worked_since_it_should_have_is_told_and_a_new_one_is_not(nightly):
    BackupSchedule.objects.update(created_at=ago(hours=3))
    assert told() == []
    BackupSchedule.objects.update(created_at=ago(days=3))
    assert told() == ["anna"]
    assert describe(Notification.objects.get()).values["last"] is None


def test_one_whose_rule_cannot_be_read_is_told(nightly):
    worked(nightly, hours=1)
    BackupSchedule.objects.update(rule="every now and then", unreadable=True)
    assert told() == ["anna"]
    assert describe(Notification.objects.get()).values["unreadable"]


@pytest.mark.parametrize("off", [{"enabled": False}, {"target__enabled": False}])
def test_one_that_nobody_wants_now_is_not_told(nightly, off):
    if "enabled" in off:
        BackupSchedule.objects.update(enabled=False)
    else:
        type(nightly.target).objects.update(enabled=False)
    assert told() == []


def test_a_rule_that_has_come_to_its_end_is_not_stale(nightly):
    until = datetime.now(UTC) - timedelta(days=20)
    BackupSchedule.objects.update(rule=f"FREQ=DAILY;UNTIL={until:%Y%m%dT%H%M%SZ}")
    worked(nightly, days=20)
    assert told() == []


def test_it_is_a_duty_of_the_leader_once_an_hour():
    assert registry.duties["backups.freshness"].cadence == "hour"
