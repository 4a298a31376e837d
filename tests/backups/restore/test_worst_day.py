"""The machine is gone: a directory, a key and an empty migrated database are all there is."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import connection, connections

from backups.archive.manifest import Manifest, Snapshot
from backups.archive.write import ArchiveWriter
from backups.data.checksum import Checksum
from backups.data.export import Export
from backups.data.snapshot import snapshot
from backups.data.spec import discover
from backups.data.tables import tables
from backups.keys import MasterKey
from hubqueue.models import Job
from leads.models import Event, LeadRequest
from notifications.models import Notification, WebhookSubscription
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, STARTED, about
from tests.backups.data.databases import database
from tests.backups.data.test_project import checksums, fill
from tests.conftest import CHECKOUT, _url

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "copy"]),
]
GROUPS = 60_000
# What a restore makes wait for an officer.
WAITING = (
    "notifications.Notification",
    "notifications.WebhookSubscription",
    "leads.LeadRequest",
)


@pytest.fixture(scope="module", autouse=True)
def copy(django_db_setup: None, django_db_blocker: Any) -> Iterator[Any]:
    with django_db_blocker.unblock(), database("copy") as made:
        call_command("migrate", database="copy", verbosity=0)
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Directory]:
    with Directory(tmp_path / "target") as opened:
        yield opened


def archived(store: Directory, **changes: Any) -> Manifest:
    """This installation's rows as an archive."""
    chosen = tables(discover())
    with snapshot(chosen) as taken:
        known = {
            "scope": "all",
            "schema": taken.migrations,
            "snapshot": Snapshot(at=taken.taken_at, transactions=taken.transactions),
        }
        writer = ArchiveWriter(store, about(**known | changes), KEY)
        for table in chosen:
            writer.add_rows(table.label, Export(taken, table))
        return writer.finish()


class Machine:
    """A new machine: a process with nothing but the directory, the key and the empty database."""

    def __init__(self, env: dict[str, str], store: Directory) -> None:
        self.env = env | {
            "DATABASE_URL": _url(connections["copy"].settings_dict),
            "BACKUPS_KEYS": KEY.text,
        }
        self.root = store.root

    def start(self, name: object, *options: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                sys.executable,
                "manage.py",
                *f"backups restore {name} --directory".split(),
                str(self.root),
                *options,
            ],
            cwd=CHECKOUT,
            env=self.env | env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def restore(self, name: object, *options: str, **env: str) -> tuple[int, str, str]:
        process = self.start(name, *options, **env)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err


@pytest.fixture
def machine(process_env: dict[str, str], store: Directory) -> Machine:
    return Machine(process_env, store)


def is_empty() -> bool:
    return not any(
        model.objects.using("copy").exists() for model in (User, Group, Event, Job, Notification)
    )


def test_what_cannot_be_restored_is_refused_before_a_row_is_written_and_a_killed_restore_is_none(
    machine: Machine, store: Directory
) -> None:
    fill()
    boss = User.objects.get(username="boss")
    Notification.objects.create(
        recipient=boss, category="x", cause_id="1", created_at=boss.date_joined
    )
    LeadRequest.objects.update(done=False)
    WebhookSubscription.objects.create(
        name="theirs", url="https://example.org/", event_types=["x"], secret="sealed"
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO auth_group (name) SELECT 'g' || n FROM generate_series(1, {GROUPS}) AS n"
        )
    manifest = archived(store)
    name = manifest.name

    wrong = MasterKey(KEY.id, bytes(32)).text
    tenant = archived(store, scope="tenant-one").name
    ahead = archived(store, schema={"leads": ["0001_leads", "9999_news"]}, started=_later(1)).name
    damaged = archived(store, started=_later(2))
    missing = archived(store, started=_later(3))
    member = "data/leads.Event.jsonl.zst"
    path = store.root / str(damaged.name) / member
    stored = bytearray(path.read_bytes())
    stored[-1] ^= 1
    path.write_bytes(stored)
    (store.root / str(missing.name) / member).unlink()
    for given, env, code in (
        (name, {"BACKUPS_KEYS": wrong}, "backups.key_wrong"),
        (tenant, {}, "backups.not_whole"),
        (ahead, {}, "backups.schema_ahead"),
        (damaged.name, {}, "backups.archive_unsound"),
        (missing.name, {}, "backups.member_missing"),
    ):
        ended, _, err = machine.restore(given, **env)
        assert (ended, code in err) == (1, True), err
        assert is_empty()

    ended, out, err = machine.restore(name, "--check", "--json")
    assert ended == 0, err
    assert json.loads(out)["restored"] is False
    assert is_empty()

    process = machine.start(name)
    assert process.stderr is not None
    while (line := process.stderr.readline()) and "auth.Permission: " not in line:
        pass
    process.send_signal(SIGKILL)
    process.communicate(timeout=30)
    assert process.returncode == -SIGKILL
    assert is_empty()

    ended, out, err = machine.restore(name, "--json")
    assert ended == 0, err
    assert json.loads(out) == {
        "archive": str(name),
        "after": [],
        "restored": True,
        "rows": manifest.counts,
        "files": {"names": 0, "missing": 0},
    }
    assert "leads.Registration: 3 of 3" in err
    chosen = tables(discover())
    here, there = checksums(chosen, "default"), checksums(chosen, "copy")
    assert _without(here) == _without(there)
    _nobody_is_called()

    ended, _, err = machine.restore(name)
    assert (ended, "backups.not_empty" in err) == (1, True), err


def _later(seconds: int) -> datetime:
    return STARTED + timedelta(seconds=seconds)


def _without(sums: dict[str, Checksum]) -> dict[str, Checksum]:
    """Of what the restore makes wait, the number of rows alone."""
    return sums | {label: replace(sums[label], first=0, second=0) for label in WAITING}


def _nobody_is_called() -> None:
    subscription = WebhookSubscription.objects.using("copy").get()
    assert (subscription.state, subscription.reason) == ("disabled", "restored")
    assert Notification.objects.using("copy").get().state == "held"
    assert LeadRequest.objects.using("copy").get().park_reason == "restored"
    assert not Job.objects.using("copy").exists()
