"""``manage.py backups plan`` says beforehand what an expiry would do, and does nothing."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from backups.decisions import decisions_of
from backups.models import BackupRun, BackupSchedule
from hubqueue.querysets import database_now
from tests.backups.schedules.conftest import MakeSchedule

pytestmark = pytest.mark.django_db


def plan(*arguments: str) -> str:
    out = StringIO()
    call_command("backups", "plan", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def schedule(make: MakeSchedule) -> BackupSchedule:
    """Four verified archives and one that is not, of which two stay."""
    keeps = {f"keep_{each}": 0 for each in ("daily", "weekly", "monthly", "yearly")}
    made = make(keep_last=2, min_keep=1, **keeps)
    now = database_now("default")
    for hours in range(5):
        BackupRun.objects.create(
            target=made.target,
            schedule=made,
            tenant=made.tenant,
            trigger="schedule",
            state="SUCCEEDED",
            archive=f"archive-{hours}",
            started_at=now - timedelta(hours=hours),
            finished_at=now,
            verified_at=None if hours == 2 else now,
        )
    return made


def test_it_tells_what_stays_and_why_and_what_would_expire_in_order(
    schedule: BackupSchedule,
) -> None:
    lines = plan(schedule.name).splitlines()
    assert [each.split("  ")[1] for each in lines[:-1]] == [
        "archive-0: stays (last 1 of 2)",
        "archive-1: stays (last 2 of 2)",
        "archive-2: stays (not verified: counts for nothing, never touched)",
        "archive-3: would expire as number 2",
        "archive-4: would expire as number 1",
    ]
    assert lines[-1] == "3 stay, 2 would expire."


def test_for_programs_it_is_the_same_and_nothing_changes(schedule: BackupSchedule) -> None:
    before = list(BackupRun.objects.order_by("id").values())
    told = json.loads(plan(schedule.name, "--json"))
    assert [each["run"] for each in told] == [each.archive.id for each in decisions_of(schedule)]
    assert [each["place"] for each in told] == [None, None, None, 2, 1]
    assert told[0]["reasons"] == [{"rule": "last", "words": "last 1 of 2"}]
    assert list(BackupRun.objects.order_by("id").values()) == before


def test_what_cannot_be_told_is_refused_in_words(schedule: BackupSchedule) -> None:
    with pytest.raises(CommandError, match="There is no schedule 'Weekly'"):
        plan("Weekly")
    BackupSchedule.objects.update(zone="Europe/Nowhere")
    with pytest.raises(CommandError, match="cannot be used"):
        plan(schedule.name)
