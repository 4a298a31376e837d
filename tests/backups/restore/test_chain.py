"""An incremental archive comes back with all that it goes on from."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from shutil import move
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.db import connection

from backups.data.spec import discover
from backups.data.tables import tables
from backups.models import BackupRun, BackupTarget
from backups.services import request_run
from hubqueue.testing import run_due_jobs
from leads.models import Event, Lead, Registration
from tests.backups.data.databases import database
from tests.backups.data.test_project import checksums, fill
from tests.leads.made import make_registration, walk_until_done
from tests.support.damage import flip

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "copy"]),
]


@pytest.fixture(scope="module", autouse=True)
def copy(django_db_setup: None, django_db_blocker: Any) -> Iterator[Any]:
    with django_db_blocker.unblock(), database("copy") as made:
        call_command("migrate", database="copy", verbosity=0)
        yield made


def made(target: BackupTarget, mode: str) -> BackupRun:
    run = request_run(target, trigger="manual", mode=mode)
    run_due_jobs(queues=["backups"])
    run.refresh_from_db()
    assert (run.state, run.mode) == ("SUCCEEDED", mode), run.code
    return run


def test_every_kind_of_change_comes_back_and_a_chain_that_is_not_whole_is_refused(
    cellar: BackupTarget, tmp_path: Path
) -> None:
    fill()
    full = made(cellar, "full")
    Registration.objects.filter(name="Ä 1").update(name="Ö", email="other@example.org")
    make_registration(Event.objects.get())
    walk_until_done()
    first = made(cellar, "incremental")
    Group.objects.all().delete()
    User.objects.create_user("second")
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE leads_lead CASCADE")
    Registration.objects.filter(name="Ä 2").delete()
    last = made(cellar, "incremental")

    root = tmp_path / "cellar"

    def restored(*options: str) -> Any:
        out = StringIO()
        call_command(
            *("backups", "restore", last.archive, "--directory", str(root)),
            *("--database", "copy", "--json", *options),
            stdout=out,
            stderr=StringIO(),
        )
        return json.loads(out.getvalue())

    move(root / first.archive, tmp_path / "away")
    with pytest.raises(CommandError, match=r"backups.parent_missing: .*Bring it back"):
        restored()
    move(tmp_path / "away", root / first.archive)
    (member,) = (root / full.archive).rglob("leads.Registration.jsonl.zst")
    sound = member.read_bytes()
    flip(member)
    with pytest.raises(CommandError, match=rf"backups.archive_unsound: The archive {full.archive}"):
        restored()
    assert not User.objects.using("copy").exists()
    member.write_bytes(sound)

    told = restored("--check")
    assert told["after"] == [full.archive, first.archive]
    assert not User.objects.using("copy").exists()
    told = restored()
    assert told["restored"]
    assert told["rows"]["leads.Registration"] == Registration.objects.count()
    chosen = tables(discover())
    here, there = checksums(chosen, "default"), checksums(chosen, "copy")
    assert here == there
    assert here["leads.Lead"].rows == Lead.objects.using("copy").count() == 0
    assert User.objects.db_manager("copy").create_user("next").pk > User.objects.latest("pk").pk
