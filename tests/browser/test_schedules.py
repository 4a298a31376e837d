"""A schedule is made in a real browser, under the policy that forbids inline styles and scripts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backups.models import BackupSchedule, BackupTarget

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]


def test_an_officer_makes_a_schedule_and_sees_when_it_fires(
    log_in: Callable[[str], Any], picture: Callable[[str], None], tmp_path: Path, settings: Any
) -> None:
    settings.BACKUPS_VOLUME = str(tmp_path)
    BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "cellar"})
    page = log_in("ada")
    page.goto("/admin/backups/backupschedule/add/")
    page.fill("#id_name", "Every night")
    page.select_option("#id_target", label="Cellar")
    page.fill("#id_rule", "* * * * *")
    page.fill("#id_zone", "Europe/Berlin")
    page.click("[name=_continue]")
    picture("backup-schedule-refused")
    assert "fires every 5 minutes at most" in page.inner_text(".field-rule .errorlist")
    page.fill("#id_rule", "FREQ=DAILY;BYHOUR=2;BYMINUTE=30")
    page.click("[name=_continue]")
    page.wait_for_selector("#next-moments")
    picture("backup-schedule")
    rows = page.locator("#next-moments tbody tr")
    assert rows.count() == 5
    assert " 02:30 +0" in rows.first.inner_text()
    assert "It never ran." in page.inner_text(".hq-why")
    assert BackupSchedule.objects.get().next_run_at is not None
    page.goto("/admin/backups/backupschedule/")
    picture("backup-schedules")
    assert "the whole installation" in page.inner_text("#result_list")
