"""A whole database leaves by pg_dump and comes back, and the copy does nothing by itself."""

import os
from io import StringIO
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from backups.archive.manifest import Manifest, Period, Snapshot
from backups.archive.names import DUMP
from backups.archive.read import open_archive
from backups.archive.verify import verify
from backups.archive.write import ArchiveWriter
from backups.errors import (
    DatabaseNotEmpty,
    MemberDamaged,
    ToolFailed,
    ToolMissing,
)
from backups.keys import KeyRing, MasterKey
from backups.models import BackupRun, BackupTarget
from backups.services import request_run
from backups.system.dump import dumped
from backups.system.restore import refuse_filled, restore
from backups.system.tools import environment, programs
from hubqueue.models import Job, Operation
from hubqueue.testing import run_due_jobs
from leads.models import LeadRequest
from notifications.models import Notification, WebhookMessage, WebhookSubscription
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, RING, about
from tests.backups.restore.test_quiet import waiting
from tests.support.damage import flip
from tests.support.wait import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("tools")]

ROWS = """
SELECT format('SELECT %L, count(*), coalesce(sum(hashtextextended(t::text, 0)), 0) FROM %I AS t', relname, relname)
FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname
"""


def checksums(of: BaseDatabaseWrapper) -> dict[str, tuple[int, int]]:
    """Rows and a sum of their digests, of every table that there is."""
    with of.cursor() as cursor:
        cursor.execute(ROWS)
        queries = [row[0] for row in cursor.fetchall()]
        cursor.execute("SET timezone = 'UTC'")
        cursor.execute(" UNION ALL ".join(queries))
        return {name: (rows, int(total)) for name, rows, total in cursor.fetchall()}


def nothing() -> None:
    """No reason to stop."""


def write(store: Directory, key: MasterKey | None = KEY) -> Manifest:
    with dumped("default", nothing) as dump:
        taken = dump.taken
        writer = ArchiveWriter(
            store,
            about(
                scope="system",
                schema=taken.migrations,
                snapshot=Snapshot(at=taken.taken_at, transactions=taken.transactions),
                period=Period(since=None, until=taken.taken_at),
            ),
            key,
        )
        writer.add_dump(dump.pieces)
        return writer.finish()


def job(state: str, **more: Any) -> Job:
    with connection.cursor() as cursor:
        cursor.execute("SELECT hubqueue_now()")
        now = cursor.fetchone()[0]
    ended = now if state in ("DEAD", "SUCCEEDED", "CANCELLED") else None
    return Job.objects.create(
        kind="backups.run",
        queue="backups",
        state=state,
        run_at=now,
        created_at=now,
        max_attempts=3,
        finished_at=ended,
        **more,
    )


def objects(store: Directory) -> list[str]:
    return [each.name for each in store.list()]


def test_every_row_of_every_table_comes_back_but_what_makes_the_copy_safe(store, copy):
    Group.objects.create(name="officers")
    dead = job("DEAD")
    with connection.cursor() as cursor:
        cursor.execute("SELECT lo_from_bytea(0, 'large')")
    manifest = write(store)
    restore(open_archive(store, str(manifest.name), RING), "copy")
    there, here = checksums(copy), checksums(connection)
    assert there.pop("hubqueue_operation")[0] == here.pop("hubqueue_operation")[0] + 1
    assert there == here
    assert here["auth_group"][0] == 1
    assert Job.objects.using("copy").get().pk == dead.pk
    with copy.cursor() as cursor:
        cursor.execute("SELECT convert_from(lo_get(oid), 'UTF8') FROM pg_largeobject_metadata")
        assert ("large",) in cursor.fetchall()
    with connection.cursor() as cursor:
        cursor.execute("SELECT lo_unlink(oid) FROM pg_largeobject_metadata")


def test_the_archive_holds_the_moment_that_its_manifest_names(store, copy):
    def late() -> None:
        if not Group.objects.exists():
            Group.objects.create(name="after the snapshot")

    with dumped("default", late) as dump:
        writer = ArchiveWriter(store, about(scope="system", schema=dump.taken.migrations), KEY)
        writer.add_dump(dump.pieces)
        name = str(writer.finish().name)
    restore(open_archive(store, name, RING), "copy")
    assert Group.objects.exists()
    assert not Group.objects.using("copy").exists()


def test_every_unfinished_job_is_parked_and_nothing_of_the_old_workers_is_left(store, copy):
    ready, running = job("READY"), job("RUNNING", claimed_by=KEY_OF_A_WORKER, fence=4)
    parked = job("PARKED", park_reason="ours")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO hubqueue_leader (id, host, pid, since) VALUES (1, 'old', 1, now())"
        )
        cursor.execute(
            "INSERT INTO hubqueue_worker (id, host, pid, queues, kinds, solo, sessions_visible, started_at,"
            " lease_until) VALUES (%s, 'old', 1, '[]', '[]', false, true, now(), now() + interval '1 hour')",
            [KEY_OF_A_WORKER],
        )
    restore(open_archive(store, str(write(store).name), RING), "copy")
    found = {each.pk: (each.state, each.park_reason) for each in Job.objects.using("copy").all()}
    assert found == {
        ready.pk: ("PARKED", "restored"),
        running.pk: ("PARKED", "restored"),
        parked.pk: ("PARKED", "ours"),
    }
    assert Job.objects.using("copy").get(pk=running.pk).fence == 5
    with copy.cursor() as cursor:
        cursor.execute(
            "SELECT (SELECT count(*) FROM hubqueue_worker), count(*) FROM hubqueue_leader"
        )
        assert cursor.fetchone() == (0, 0)
    assert Operation.objects.using("copy").get().reason == "restored"


def test_mail_webhooks_and_leads_that_waited_wait_for_an_officer_in_the_copy(store, copy):
    waiting()
    restore(open_archive(store, str(write(store).name), RING), "copy")
    assert Notification.objects.using("copy").get().state == "held"
    assert WebhookMessage.objects.using("copy").get().state == "held"
    assert WebhookSubscription.objects.using("copy").get().reason == "restored"
    assert LeadRequest.objects.using("copy").get().park_reason == "restored"
    assert set(Job.objects.using("copy").values_list("state", flat=True)) == {"PARKED"}
    assert Notification.objects.get().state == "pending"


KEY_OF_A_WORKER = "01980000-0000-7000-8000-000000000001"


def test_a_database_that_is_not_empty_is_refused_before_anything_is_read(store, copy):
    name = str(write(store).name)
    refuse_filled(copy)
    with copy.cursor() as cursor:
        cursor.execute("CREATE TABLE kept (id int)")
    store.asked.clear()
    archive = open_archive(store, name, RING)
    before = len(store.asked)
    with pytest.raises(DatabaseNotEmpty):
        restore(archive, "copy")
    assert len(store.asked) == before


def test_a_damaged_archive_and_one_that_is_no_dump_leave_the_database_empty(store, copy):
    name = str(write(store).name)
    path = store.root / name / DUMP
    flip(path)
    with pytest.raises(MemberDamaged):
        restore(open_archive(store, name, RING), "copy")
    refuse_filled(copy)
    writer = ArchiveWriter(store, about(scope="other"), KEY)
    writer.add_dump([b"no dump " * 100_000])
    other = str(writer.finish().name)
    with pytest.raises(ToolFailed):
        restore(open_archive(store, other, RING), "copy")
    refuse_filled(copy)


def test_sql_that_fails_in_the_middle_leaves_the_database_empty(store, copy, monkeypatch):
    name = str(write(store).name)
    monkeypatch.setattr("backups.system.restore.set_aside", lambda: "SELECT 1 / 0;")
    with pytest.raises(ToolFailed) as refused:
        restore(open_archive(store, name, RING), "copy")
    assert refused.value.code == "backups.tool_failed"
    refuse_filled(copy)


def test_a_tool_that_is_killed_leaves_nothing_under_a_final_name(store):
    killed: list[int] = []

    def kill() -> None:
        for pid in [] if killed else dumping():
            os.kill(pid, SIGKILL)
            killed.append(pid)

    with dumped("default", kill) as dump, pytest.raises(ToolFailed):
        ArchiveWriter(store, about(scope="system"), KEY).add_dump(dump.pieces)
    assert killed
    assert objects(store) == []


def test_who_stops_a_dump_kills_the_tool_even_while_it_waits(store):
    class Stopped(Exception):
        pass

    pids: list[int] = []

    def stop() -> None:
        pids.extend(dumping())
        raise Stopped

    with pytest.raises(Stopped), dumped("default", stop) as dump:
        ArchiveWriter(store, about(scope="system"), KEY).add_dump(dump.pieces)
    assert pids
    until(lambda: not dumping(), message="the end of pg_dump")
    assert objects(store) == []


def test_the_password_is_in_no_command_line_and_keys_are_not_in_the_environment(monkeypatch):
    monkeypatch.setenv("BACKUPS_KEYS", "one:secret")
    standing = connections["default"]
    params = standing.get_connection_params() | {"password": "hidden-word"}
    monkeypatch.setattr(type(standing), "get_connection_params", lambda _: params)
    assert environment(standing)["PGPASSWORD"] == "hidden-word"
    assert "BACKUPS_KEYS" not in environment(standing)
    monkeypatch.undo()
    seen: list[bytes] = []
    with dumped("default", lambda: seen.extend(map(command_line, dumping()))) as dump:
        for _ in dump.pieces:
            pass
    assert seen
    words = {word for line in seen for word in line.split(b"\0")}
    assert not any(b"password=" in word or b"://" in word for word in words)
    assert all(word.startswith(b"--") or word.endswith(b"pg_dump") for word in words if word)


def test_tools_that_are_missing_or_older_than_the_server_are_refused_before_anything(
    store, settings, tmp_path
):
    settings.BACKUPS_PG_BIN = str(tmp_path)
    with pytest.raises(ToolMissing, match="got none"), dumped("default", nothing):
        pass
    for name in ("pg_dump", "pg_restore"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) 9.6.24'\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(ToolMissing, match=r"got version 9: install"), dumped("default", nothing):
        pass
    assert objects(store) == []


def test_of_several_tools_the_servers_own_version_is_taken_else_the_next_newer(
    settings, tmp_path, monkeypatch
):
    settings.BACKUPS_PG_BIN = ""
    for major in (15, 16, 18, 20):
        tool = tmp_path / str(major) / "pg_dump"
        tool.parent.mkdir()
        tool.write_text(f"#!/bin/sh\necho 'pg_dump (PostgreSQL) {major}.1'\n")
        tool.chmod(0o755)
    made = [tmp_path / each for each in ("20", "15", "18", "16")]
    monkeypatch.setattr("backups.system.tools._candidates", lambda: iter(made))
    assert programs(16, "pg_dump").name == "16"
    assert programs(17, "pg_dump").name == "18"


def test_verification_reads_the_dump_and_an_old_key_opens_it_after_a_rotation(store, copy):
    name = str(write(store).name)
    new = MasterKey("second", bytes(range(1, 33)))
    ring = KeyRing((new, KEY))
    assert verify(store, name, ring, encrypted=True).sound
    assert not verify(store, name, KeyRing((new,))).sound
    assert b"hubqueue_job" not in (store.root / name / DUMP).read_bytes()
    restore(open_archive(store, name, ring, encrypted=True), "copy")
    assert checksums(copy)["django_migrations"] == checksums(connection)["django_migrations"]


def test_a_run_of_the_system_makes_such_an_archive_and_its_copy_says_the_run_ended(
    settings, tmp_path, copy
):
    settings.BACKUPS_VOLUME, settings.BACKUPS_KEYS = str(tmp_path), KEY.text
    cellar = BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "target"})
    run = request_run(cellar, trigger="manual", content="system")
    run_due_jobs(queues=["backups"])
    run.refresh_from_db()
    assert (run.state, run.code) == (BackupRun.State.SUCCEEDED, "")
    assert run.archive.startswith("hubqueue-backup-system-")
    with Directory(tmp_path / "target") as store:
        archive = open_archive(store, run.archive, RING)
        assert archive.manifest.snapshot.at == run.snapshot_at
        out = StringIO()
        where = ["--directory", str(store.root)]
        call_command("backups", "inspect", run.archive, *where, stdout=out)
        assert "database" in out.getvalue()
        said = StringIO()
        whole = ["restore", run.archive, "--system", *where, "--database", "copy"]
        call_command("backups", *whole, "--check", stdout=out)
        assert "can be restored" in out.getvalue()
        refuse_filled(copy)
        forged = str(write(store, key=None).name)
        with pytest.raises(CommandError, match="backups.not_encrypted"):
            call_command("backups", "restore", forged, *whole[2:])
        with pytest.raises(CommandError, match=r"backups.not_whole: .* restore it with --system"):
            call_command("backups", "restore", run.archive, *where)
        call_command("backups", *whole, stdout=said)
    assert "parked" in said.getvalue()
    copied = BackupRun.objects.using("copy").get(pk=run.pk)
    assert (copied.state, copied.code) == (BackupRun.State.FAILED, "backups.restored")
    assert Job.objects.using("copy").get(pk=run.job_id).state == "PARKED"
    with pytest.raises(CommandError, match="backups.database_not_empty"):
        call_command("backups", *whole)


def test_the_system_is_not_given_to_a_tenant(settings, tmp_path):
    settings.BACKUPS_VOLUME, settings.BACKUPS_KEYS = str(tmp_path), KEY.text
    cellar = BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "target"})
    run = request_run(cellar, trigger="manual", content="system", tenant="acme")
    run_due_jobs(queues=["backups"])
    run.refresh_from_db()
    assert (run.state, run.code) == (BackupRun.State.FAILED, "backups.content_unknown")
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


def dumping() -> list[int]:
    """The pg_dump processes that are children of ours."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid() and b"pg_dump" in command_line(int(entry.name)):
                found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()
