"""Two tenants with rows in every table that tenants have, and a target in a local directory."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import TransactionTestCase, override_settings

from backups.data import checksum
from backups.data.spec import discover
from backups.data.tables import tables
from backups.data.text_form import SETTINGS
from backups.keys import MasterKey
from backups.models import BackupRestore, BackupRun, BackupTarget
from backups.services import request_run
from hubqueue.querysets import database_now
from hubqueue.testing import move_clock, run_due_jobs
from leads import services
from leads.models import Event, Registration, RegistrationAnswer
from notifications.models import Notification
from tests.leads.made import make_answers, walk_until_done
from tests.support.emptying import Emptying

KEY = MasterKey("one", bytes(range(32)))
QUEUE = ["backups"]


@pytest.fixture(scope="module")
def base(
    django_db_setup: None,
    django_db_blocker: Any,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Path]:
    """Committed once for the tests of a file, each of which is rolled back; answers where archives lie.

    A file may say what more acme has: ``more(acme, boss)``.
    """
    volume: Path = tmp_path_factory.mktemp("volume")
    more = getattr(request.module, "more", lambda acme, boss: None)
    keys = {"BACKUPS_VOLUME": str(volume), "BACKUPS_KEYS": KEY.text}
    with django_db_blocker.unblock(), override_settings(**keys):
        emptying = Emptying()
        boss = User.objects.create_user("boss", email="boss@example.org")
        fill("other", boss)
        more(fill("acme", boss), boss)
        cellar = BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "cellar"})
        archive_of("acme", cellar)
    yield volume
    with django_db_blocker.unblock():
        emptying.after(TransactionTestCase())


@pytest.fixture
def volume(base: Path, tmp_path: Path, settings: Any, db: None) -> Path:
    copytree(base, tmp_path, dirs_exist_ok=True)
    settings.BACKUPS_VOLUME = str(tmp_path)
    settings.BACKUPS_KEYS = KEY.text
    return tmp_path


@pytest.fixture
def cellar(volume: Path) -> BackupTarget:
    return BackupTarget.objects.get()


@pytest.fixture
def boss(volume: Path) -> User:
    return User.objects.get(username="boss")


@pytest.fixture
def acme(volume: Path) -> Event:
    return Event.objects.get(tenant_id="acme")


@pytest.fixture
def archived(volume: Path) -> BackupRun:
    """An archive of the tenant acme, made by a person."""
    return BackupRun.objects.get()


def fill(tenant: str, boss: User, people: int = 3) -> Event:
    """Rows of the tenant's, and rows that all tenants share."""
    event = Event.objects.create(code=f"fair of {tenant}", name="Fair", tenant_id=tenant)
    services.create_rule(name=f"everybody of {tenant}", event=event, on_create=True)
    question, (yes, no) = make_answers(f"Food for {tenant}?", "yes", "no")
    for number in range(people):
        one = services.register(event, name=f"Ä {number}", phone=f"{tenant}{number}")
        answer = (yes, no)[number % 2]
        RegistrationAnswer.objects.create(registration=one, question=question, answer=answer)
    walk_until_done()
    Notification.objects.create(
        tenant_id=tenant,
        recipient=boss,
        category="x",
        channel="mail",
        cause_id=f"of {tenant}",
        state="sent",  # what waits is held by a restore
        created_at=database_now("default"),
        finished_at=database_now("default"),
    )
    return event


def archive_of(tenant: str | None, target: BackupTarget, mode: str = "full") -> BackupRun:
    run = request_run(target, trigger="manual", tenant=tenant, mode=mode)
    run_due_jobs(queues=QUEUE)
    run.refresh_from_db()
    assert run.state == BackupRun.State.SUCCEEDED, run.code
    return run


def checksums(tenant: str | None) -> dict[str, checksum.Checksum]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("; ".join(SETTINGS))
        return checksum.of_tables(connection, tables(discover()), tenant)


def changed(event: Event) -> None:
    """Other rows than those that were archived: gone, changed and new ones."""
    Event.objects.filter(pk=event.pk).update(name="Changed")
    gone = Registration.objects.filter(event=event).first()
    assert gone is not None
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM leads_registrationanswer WHERE registration_id = %s", [gone.pk])
    services.register(event, name="Newcomer", phone="new")
    walk_until_done()
    Event.objects.create(code="later", name="Later", tenant_id="acme")


def performed(
    restore: BackupRestore, *, steps: int = 6, before: Callable[[], object] = lambda: None
) -> BackupRestore:
    """Runs what is due until the restore has ended, moving the clock over the waits."""
    for step in range(steps):
        before()
        with move_clock(timedelta(minutes=45 * step)):
            run_due_jobs(queues=QUEUE)
        restore.refresh_from_db()
        if restore.state != BackupRestore.State.RUNNING:
            break
    return restore
