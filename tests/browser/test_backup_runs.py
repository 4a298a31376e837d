"""A run of a backup in a real browser: its bar moves by itself, on a wide window and on a narrow one."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from backups.models import BackupRun, BackupSchedule, BackupTarget
from hubqueue.querysets import database_now

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]
Run = BackupRun.State
LIST = "/admin/backups/backuprun/"


def test_the_bar_of_a_run_moves_and_the_end_is_told_without_a_hand(
    log_in: Callable[[str], Any], picture: Callable[[str], None]
) -> None:
    target = BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "target"})
    schedule = BackupSchedule.objects.create(name="Nights", target=target, rule="0 3 * * *")
    now = database_now("default")
    fields = {"target": target, "schedule": schedule, "trigger": "schedule"}
    for days in range(1, 35):
        moment = now - timedelta(days=days)
        BackupRun.objects.create(
            **fields, state=Run.SUCCEEDED, archive=f"all-{moment:%Y%m%dT%H%M%SZ}-full",
            started_at=moment, finished_at=moment + timedelta(minutes=4), bytes=days * 7_000_000,
            verified_at=moment, findings=["backups.member_damaged"] if days == 3 else [],
        )  # fmt: skip
    run = BackupRun.objects.create(
        **fields, share=0.1, started_at=now, archive=f"all-{now:%Y%m%dT%H%M%SZ}-full"
    )

    page = log_in("ada")
    picture("backup-overview")
    page.set_viewport_size({"width": 390, "height": 800})
    picture("backup-overview-narrow")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{LIST}{run.pk}/change/")
    page.wait_for_selector("progress[value='10']")
    picture("backup-run")
    BackupRun.objects.filter(pk=run.pk).update(share=0.7)
    page.wait_for_selector("progress[value='70']")
    BackupRun.objects.filter(pk=run.pk).update(
        state=Run.SUCCEEDED, finished_at=database_now("default"), share=1
    )
    page.wait_for_selector(".hq-pill.hq-succeeded")
    assert page.locator("progress").count() == 0

    page.goto(f"{LIST}{run.pk}/do/pin/")
    picture("backup-pin")
    page.fill("[name=until]", "2999-01-01")
    page.fill("[name=reason]", "the audit asks")
    page.click("input[value=Pin]")
    assert "Pinned" in page.inner_text(".hq-why")
    page.goto(LIST)
    picture("backup-runs")
    page.goto(f"{LIST}generations/{schedule.pk}/")
    picture("backup-generations-page")
    page.goto(f"/admin/backups/backuptarget/{target.pk}/change/")
    picture("backup-target")

    page.set_viewport_size({"width": 390, "height": 800})
    for name, address in (
        ("run", f"{LIST}{run.pk}/change/"),
        ("runs", LIST),
        ("generations-page", f"{LIST}generations/{schedule.pk}/"),
    ):
        page.goto(address)
        picture(f"backup-{name}-narrow")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
