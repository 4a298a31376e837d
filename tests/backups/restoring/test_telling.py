"""Who asked for a restore that failed, and who may restore, hear of it once; every end is counted."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from prometheus_client import REGISTRY

from backups.models import BackupRestore, BackupRun, BackupTarget
from backups.restore_notice import RESTORE_FAILED, describe
from backups.restoring import closing
from hubqueue.querysets import database_now
from notifications.models import Notification

pytestmark = pytest.mark.django_db
MAY = ("restore_backuprun", "view_backuprun")


def person(name: str, *permissions: str, is_staff: bool = True) -> User:
    made = User.objects.create_user(name, email=f"{name}@example.org", is_staff=is_staff)
    made.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return made


@pytest.fixture
def restore(db: None) -> BackupRestore:
    target = BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "cellar"})
    run = BackupRun.objects.create(
        target=target, tenant="acme", trigger="manual", state="SUCCEEDED", archive="acme-1",
        finished_at=database_now("default"),
    )  # fmt: skip
    return BackupRestore.objects.create(
        run=run, mode="replace", tenant="acme", asked_by="asker", phase="load", rows=7
    )


def told() -> list[str]:
    rows = Notification.objects.filter(category=RESTORE_FAILED.name).order_by("recipient__username")
    return list(rows.values_list("recipient__username", flat=True))


def test_who_asked_and_who_may_restore_are_told_once_of_one_that_failed(restore: BackupRestore):
    asker = person("asker", "view_backuprun")
    person("anna", *MAY)
    person("blind", MAY[0])
    person("guest", *MAY, is_staff=False)
    closing.fail(restore.pk, "backups.load_refused")
    closing.fail(restore.pk, "backups.load_refused")
    assert told() == ["anna", "asker"]
    message = Notification.objects.get(recipient=asker)
    assert message.tenant_id is None  # it does not go with the tenant's rows
    said = describe(message)
    assert said is not None
    assert said.values == {
        "tenant": "acme",
        "archive": "acme-1",
        "target": "Cellar",
        "code": "backups.load_refused",
        "half": True,
    }
    asker.user_permissions.clear()
    assert describe(Notification.objects.get(recipient__username="asker")) is None


@pytest.mark.parametrize("end", ["cancel", "succeed"])
def test_of_another_end_nobody_is_told(restore: BackupRestore, end: str):
    person("asker", *MAY)
    ends: dict[str, Callable[[], Any]] = {
        "cancel": lambda: closing.cancel(restore.pk),
        "succeed": lambda: closing.succeed(restore.pk, using="default"),
    }
    ends[end]()
    assert told() == []


def test_every_end_is_counted(restore: BackupRestore, django_capture_on_commit_callbacks: Any):
    def counted() -> float:
        labels = {"mode": "replace", "state": "FAILED"}
        return REGISTRY.get_sample_value("backups_restore_seconds_count", labels) or 0

    before = counted()
    with django_capture_on_commit_callbacks(execute=True):
        closing.fail(restore.pk, "x")
        closing.fail(restore.pk, "x")
    assert counted() == before + 1
