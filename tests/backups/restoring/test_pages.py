"""Officers look into archives and restore a tenant from them, each with a reason; what destroys is typed."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from backups.models import BackupRestore, BackupRun, BackupTarget
from hubqueue.querysets import database_now
from leads.models import Event

pytestmark = pytest.mark.django_db
RUNS, RESTORES = "/admin/backups/backuprun/", "/admin/backups/backuprestore/"
YES = {"confirmed": "1", "reason": "a wrong import"}


@pytest.fixture
def run(db: None) -> BackupRun:
    target = BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "cellar"})
    return BackupRun.objects.create(
        target=target, tenant="acme", trigger="manual", state="SUCCEEDED", archive="acme-1",
        finished_at=database_now("default"),
    )  # fmt: skip


def officer(*names: str) -> Client:
    user = User.objects.create_user("ada", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    client = Client()
    client.force_login(user)
    return client


def do(client: Client, run: BackupRun, word: str, **said: Any) -> str:
    answer = client.post(f"{RUNS}{run.pk}/do/{word}/", {**YES, **said}, follow=True)
    return answer.content.decode()


def test_a_replace_is_typed_and_nothing_less_starts_it(run):
    client = officer("view_backuprun", "restore_backuprun")
    assert "Expected: acme" in do(client, run, "replace", typed="Acme")
    assert not BackupRestore.objects.exists()
    assert "the restore is queued" in do(client, run, "replace", typed="acme")
    made = BackupRestore.objects.get()
    assert (made.mode, made.tenant, made.asked_by) == ("replace", "acme", "ada")
    assert "backups.restore_busy" in do(client, run, "merge", if_there="skip")


def test_a_new_tenant_is_named_and_a_name_that_is_there_is_refused(run):
    Event.objects.create(code="x", name="x", tenant_id="other")
    client = officer("view_backuprun", "restore_backuprun")
    assert "backups.restore_refused" in do(client, run, "copy", tenant="other")
    assert "backups.restore_refused" in do(client, run, "copy", tenant="acme ")
    assert not BackupRestore.objects.exists()
    assert "the restore is queued" in do(client, run, "copy", tenant="second")
    made = BackupRestore.objects.get()
    assert (made.mode, made.tenant, made.run.tenant) == ("new_tenant", "second", "acme")


def test_without_the_permission_nothing_is_restored(run):
    client = officer("view_backuprun", "cancel_backuprun")
    assert "Replace" not in client.get(f"{RUNS}{run.pk}/change/").content.decode()
    do(client, run, "replace", typed="acme")
    do(client, run, "inspect")
    assert not BackupRestore.objects.exists()


def test_of_an_archive_of_everything_no_page_offers_more_than_a_look(run):
    BackupRun.objects.update(tenant=None)
    client = officer("view_backuprun", "restore_backuprun")
    said = client.get(f"{RUNS}{run.pk}/change/").content.decode()
    assert "/do/inspect/" in said
    assert "/do/replace/" not in said
    assert "/do/merge/" not in said
    do(client, run, "replace", typed="")
    assert not BackupRestore.objects.exists()


def test_restores_are_listed_and_cancelled_with_a_reason(run):
    client = officer(
        "view_backuprun", "restore_backuprun", "view_backuprestore", "cancel_backuprestore"
    )
    do(client, run, "inspect")
    made = BackupRestore.objects.get()
    said = client.get(RESTORES).content.decode()
    assert "acme" in said
    assert "Running" in said
    page = f"{RESTORES}{made.pk}"
    said = client.get(f"{page}/change/").content.decode()
    assert "Checking the archive; this page follows by itself." in said
    assert "acme-1" in said
    client.post(f"{page}/do/cancel/", YES)
    made.refresh_from_db()
    said = client.get(f"{page}/change/").content.decode()
    assert "Nothing was written." in said
    assert "/do/cancel/" not in said
    assert made.state == BackupRestore.State.CANCELLED
