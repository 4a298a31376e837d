"""A copy of the whole system leaves the targets of the original alone until an officer says otherwise."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from backups.archive.read import open_archive
from backups.data.spec import discover
from backups.errors import TargetDisabled
from backups.expire_handler import expire_archives
from backups.expiry import expire
from backups.models import BackupSchedule, BackupTarget
from backups.schedules.keep import keep
from backups.schedules.owed import owing
from backups.services import request_run
from backups.sweep_handler import sweep_target, sweep_targets
from backups.system.quiet import quiet
from backups.system.restore import restore
from hubqueue.testing import enqueued, run_due_jobs
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, RING
from tests.backups.keeping.made import archive, complete
from tests.backups.system.test_system import write

pytestmark = pytest.mark.django_db
TARGETS, SCHEDULES = "/admin/backups/backuptarget/", "/admin/backups/backupschedule/"


@pytest.fixture
def schedule(tmp_path: Any, settings: Any) -> BackupSchedule:
    settings.BACKUPS_VOLUME, settings.BACKUPS_KEYS = str(tmp_path), KEY.text
    target = BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "target"})
    nothing = dict.fromkeys(("keep_daily", "keep_weekly", "keep_monthly", "keep_yearly"), 0)
    made = BackupSchedule(
        name="Nightly", target=target, rule="0 3 * * *", keep_last=1, min_keep=1, **nothing
    )
    return keep(made)


def in_a_copy() -> None:
    """What a restore of the whole system does, to the rows that are here."""
    with connection.cursor() as cursor:
        cursor.execute(quiet(discover()))


def enabled_and_held(model: Any, using: str = "default") -> dict[str, tuple[bool, bool]]:
    rows = model.objects.using(using).values_list("name", "enabled", "held")
    return {name: (enabled, held) for name, enabled, held in rows}


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("tools")
def test_what_was_enabled_is_held_in_the_copy_and_what_was_not_is_only_disabled(
    schedule: BackupSchedule, store: Directory, copy: Any
) -> None:
    off = BackupTarget.objects.create(name="Attic", kind="local", enabled=False)
    keep(BackupSchedule(name="Never", target=off, rule="0 3 * * *", enabled=False))
    restore(open_archive(store, str(write(store).name), RING), "copy")
    assert enabled_and_held(BackupTarget, "copy") == {
        "Cellar": (False, True),
        "Attic": (False, False),
    }
    assert enabled_and_held(BackupSchedule, "copy") == {
        "Nightly": (False, True),
        "Never": (False, False),
    }
    assert enabled_and_held(BackupTarget)["Cellar"] == (True, False)


def test_a_dump_of_an_older_schema_is_disabled_all_the_same(schedule: BackupSchedule) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'backups' AND name = '0010_held'")
    in_a_copy()
    assert enabled_and_held(BackupTarget) == {"Cellar": (False, False)}
    assert enabled_and_held(BackupSchedule) == {"Nightly": (False, False)}


def test_nothing_is_owed_started_expired_or_swept_there(
    schedule: BackupSchedule, store: Directory
) -> None:
    old, new = archive(store, schedule, days=2), archive(store, schedule, days=1)
    in_a_copy()
    assert not owing().exists()
    sweep_targets()
    assert not enqueued(sweep_target)
    with pytest.raises(TargetDisabled):
        request_run(schedule.target, trigger="schedule", schedule=schedule)
    # A job of the original's that an officer releases.
    expire_archives.enqueue(run_id=new.pk)
    run_due_jobs(kinds=[expire_archives], raise_failures=True)
    assert complete(store) == [old.archive, new.archive]
    BackupTarget.objects.update(enabled=True)
    assert expire(schedule, store) == 0
    keep(BackupSchedule.objects.get())  # saved as it is: still held
    assert expire(schedule, store) == 0
    schedule.refresh_from_db()
    schedule.enabled = True
    keep(schedule)
    assert expire(schedule, store) == 1
    assert complete(store) == [new.archive]


def test_pages_show_what_is_held_until_an_officer_enables_it(
    schedule: BackupSchedule, client: Client
) -> None:
    in_a_copy()
    client.force_login(User.objects.create_superuser("boss"))

    def page(address: str) -> str:
        return client.get(address).content.decode()

    target_page = f"{TARGETS}{schedule.target_id}/change/"
    schedule_page = f"{SCHEDULES}{schedule.pk}/change/"
    for address in (target_page, schedule_page):
        assert "since this database was restored from a copy" in page(address)
    assert "held since a restore" in page("/admin/")
    form: dict[str, Any] = {
        "name": "Cellar",
        "config": '{"path": "target"}',
        "encryption": "client",
    }
    client.post(target_page, form | {"enabled": "on"})
    assert enabled_and_held(BackupTarget) == {"Cellar": (True, False)}
    assert "held since a restore" in page("/admin/")  # the schedule is
    schedule.refresh_from_db()
    schedule.enabled = True
    keep(schedule)
    assert enabled_and_held(BackupSchedule) == {"Nightly": (True, False)}
    assert "held since a restore" not in page("/admin/")
    assert owing().get() == schedule
