"""A copy with a worker on it calls nobody, runs nothing old and leaves the archives of the original alone."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections

from backups.archive.names import CHECKSUMS
from backups.models import BackupRun, BackupSchedule, BackupTarget
from backups.schedules.keep import keep
from backups.services import request_run
from config.embedded import binaries
from hubqueue.querysets import database_now
from hubqueue.testing import run_due_jobs
from leads import services
from notifications.services import emit, notify
from notifications.trial import TRIAL
from notifications.webhooks.subscribing import subscribe
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, STARTED, write
from tests.backups.data.databases import database, renew
from tests.backups.proof.installation import Installation, environment
from tests.leads.made import make_event
from tests.support.mail import MailServer, mail_server
from tests.support.wait import until
from tests.webhooks.endpoint import Endpoint, serving

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "copy"]),
]
HAPPENED = "leads.request_parked"
DUTIES = {"backups.schedules", "backups.sweep", "backups.freshness"}
DONE = "SELECT name FROM hubqueue_duty WHERE succeeded_at IS NOT NULL"
DUE = "SELECT 1 FROM hubqueue_job WHERE state IN ('READY', 'RUNNING') AND run_at < hubqueue_now()"
STANDS = """
SELECT (SELECT count(*) FROM leads_lead), (SELECT count(*) FROM hubqueue_job WHERE attempts > 0 AND state <> 'PARKED'),
    (SELECT array_agg(DISTINCT state) FROM notifications_notification),
    (SELECT array_agg(DISTINCT state) FROM notifications_webhookmessage)
"""
RELEASE = """
from notifications import held
from notifications.models import WebhookSubscription
from notifications.webhooks import held as held_webhooks
WebhookSubscription.objects.update(state="active", reason="", disabled_at=None)
held.release_all(actor="boss", reason="the original is gone")
held_webhooks.release_all(actor="boss", reason="the original is gone")
"""


@pytest.fixture(scope="module", autouse=True)
def copy(django_db_setup: None, django_db_blocker: Any) -> Iterator[Any]:
    """Made before the test case, which forbids what it does not know."""
    with django_db_blocker.unblock(), database("copy") as made:
        yield made


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with mail_server() as made:
        yield made


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as made:
        yield made


@pytest.fixture
def cellar(tmp_path: Path, settings: Any) -> BackupTarget:
    settings.BACKUPS_VOLUME, settings.BACKUPS_KEYS = str(tmp_path), KEY.text
    settings.BACKUPS_PG_BIN = str(binaries.find())
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    return BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "target"})


def wait_for_a_worker(endpoint: Endpoint) -> None:
    """A mail, a call, a walk, the moments of two schedules, an old archive too many and one that was never finished."""
    bo = User.objects.create_user("bo", email="bo@example.org")
    notify(TRIAL.name, [bo], cause="one")
    subscribe(name="shop", url=endpoint.url, event_types=[HAPPENED], owner=bo)
    emit(HAPPENED, data={"number": 1})
    run_due_jobs(kinds=["webhooks.dispatch"])
    services.create_rule(name="everybody", on_create=True)
    services.register(make_event(), name="A", phone="1")


def owe(cellar: BackupTarget) -> None:
    nothing = dict.fromkeys(("keep_daily", "keep_weekly", "keep_monthly", "keep_yearly"), 0)
    for name, tenant in (("Nightly", None), ("Theirs", "acme")):
        keep(
            BackupSchedule(
                name=name, target=cellar, tenant=tenant, rule="0 3 * * *", keep_last=1, min_keep=1, **nothing
            )
        )  # fmt: skip
    nightly = BackupSchedule.objects.get(name="Nightly")
    BackupRun.objects.filter(trigger="schedule", tenant=None).update(schedule=nightly)
    ago = database_now("default") - timedelta(minutes=5)
    BackupSchedule.objects.update(next_run_at=ago)


def lying(volume: Path) -> dict[str, bytes]:
    root = volume / "target"
    return {str(each.relative_to(root)): each.read_bytes() for each in root.rglob("*") if each.is_file()}  # fmt: skip


def asked_of_copy(sql: str) -> list[tuple[Any, ...]]:
    with connections["copy"].cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


@pytest.mark.parametrize("content", ["rows", "system"])
def test_nothing_goes_out_of_a_copy_and_nothing_old_runs_until_an_officer_says_so(
    cellar: BackupTarget, mail: MailServer, endpoint: Endpoint, tmp_path: Path, content: str
) -> None:
    with Directory(tmp_path / "target") as store:
        unfinished = write(store, started=STARTED - timedelta(days=90))
        store.delete(f"{unfinished.name}/{CHECKSUMS}")
    for _ in range(2):
        old = request_run(cellar, trigger="schedule")
        run_due_jobs(queues=["backups"])
    owe(cellar)
    wait_for_a_worker(endpoint)
    run = request_run(cellar, trigger="manual", content=content)
    run_due_jobs(kinds=["backups.run"])
    run.refresh_from_db()
    old.refresh_from_db()
    assert run.state == old.state == "SUCCEEDED"
    before = lying(tmp_path)

    env = environment(
        tmp_path,
        KEY.text,
        MAIL_URL=mail.url,
        WEBHOOKS_ALLOW_PRIVATE="1",
        BACKUPS_PG_BIN=str(binaries.find()),
    )
    installation = Installation("copy", env)
    renew("copy", "template0")
    if content == "rows":
        installation.manage("migrate", "--verbosity", "0")
    options = ["--system"] if content == "system" else []
    where = ["--directory", str(tmp_path / "target")]
    installation.manage("backups", "restore", run.archive, *where, *options)
    worker = installation.worker(tmp_path / "worker.log")
    try:
        until(
            lambda: DUTIES.issubset(name for (name,) in asked_of_copy(DONE)),
            timeout=60,
            message="the duties of the leader on the copy",
        )
        until(
            lambda: not asked_of_copy(DUE),
            timeout=30,
            message="the end of what is due on the copy",
        )  # fmt: skip
        ((leads, _, notifications, messages),) = asked_of_copy(STANDS)
        assert (leads, notifications, messages) == (0, ["held"], ["held"])
        assert (mail.mails, endpoint.received) == ([], [])
        assert lying(tmp_path) == before
        runs = asked_of_copy("SELECT id FROM backups_backuprun")
        assert set(runs) <= {(each,) for each in BackupRun.objects.values_list("pk", flat=True)}
        installation.manage("shell", "--no-imports", "-c", RELEASE)
        until(lambda: mail.mails and endpoint.received, message="what was released")
        assert mail.recipients == ["bo@example.org"]
        assert json.loads(endpoint.received[0].body)["data"] == {"number": 1}
    finally:
        worker.kill_tree()
