"""A run inside one process: asked for, made, refused, stopped, tried again."""

import os
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction

from backups import officers
from backups.archive.listing import State as Lies
from backups.archive.listing import archives
from backups.archive.names import CHECKSUMS
from backups.archive.read import open_archive, read_manifest
from backups.archive.write import ArchiveWriter
from backups.conf import conf
from backups.errors import (
    ContentUnknown,
    RunEnded,
    TargetBusy,
    TargetDisabled,
    TargetFull,
    TargetUnreachable,
)
from backups.models import BackupRun, BackupTarget
from backups.running.fenced import Fenced
from backups.services import request_run
from backups.targets.local import LocalTarget
from backups.targets.opening import open_store
from hubqueue.models import Job, Operation
from hubqueue.testing import move_clock, run_due_jobs
from tests.leads.made import make_event
from tests.support.damage import flip

pytestmark = pytest.mark.django_db(transaction=True)
State = BackupRun.State


def asked(target: BackupTarget, **more: Any) -> BackupRun:
    return request_run(target, trigger="manual", asked_by="boss", **more)


def performed(run: BackupRun) -> BackupRun:
    run_due_jobs(queues=["backups"])
    run.refresh_from_db()
    return run


def lying(volume: Path) -> list[str]:
    return [each for _, _, files in os.walk(volume) for each in files]


def complete(target: BackupTarget) -> list[str]:
    with open_store(target) as store:
        return [each.name for each in archives(store) if each.state is Lies.COMPLETE]


def test_a_run_makes_an_archive_that_was_read_back_and_says_what_is_in_it(cellar):
    Group.objects.create(name="officers")
    run = performed(asked(cellar))
    assert (run.state, run.code, run.share, run.findings) == (State.SUCCEEDED, "", 1, [])
    assert run.verified_at
    assert run.finished_at
    assert run.verified_at >= run.started_at
    assert complete(cellar) == [run.archive]
    with open_store(cellar) as store:
        manifest, _ = read_manifest(store, run.archive)
        archive = open_archive(store, run.archive, conf().keys, encrypted=True)
        assert b"officers" in b"".join(archive.rows("auth.Group"))
    assert manifest.archive == run.pk
    assert manifest.started == run.started_at
    assert manifest.scope == "all"
    assert run.snapshot_at == manifest.snapshot.at
    assert run.snapshot_at >= run.started_at
    assert run.transactions == manifest.snapshot.transactions
    assert run.rows == sum(manifest.counts.values())
    assert run.bytes
    assert run.media == 0
    assert Job.objects.get(pk=run.job_id).state == "SUCCEEDED"


def test_a_tenants_archive_is_named_after_it(cellar):
    make_event(tenant_id="acme")
    run = performed(asked(cellar, tenant="acme"))
    assert run.archive.startswith("hubqueue-backup-tenant-acme-")
    assert run.state == State.SUCCEEDED
    make_event(tenant_id="Ä/.. x")
    odd = performed(asked(cellar, tenant="Ä/.. x"))
    assert odd.archive.startswith("hubqueue-backup-tenant.")
    assert odd.state == State.SUCCEEDED
    assert Job.objects.get(pk=odd.job_id).tenant_id == "Ä/.. x"


def test_an_equal_request_is_answered_by_the_run_another_one_is_refused_in_words(cellar):
    first = asked(cellar)
    assert asked(cellar).pk == first.pk
    with pytest.raises(TargetBusy, match=r"at Cellar, hubqueue-backup-all-.*: wait") as refused:
        asked(cellar, tenant="acme")
    assert refused.value.code == "backups.target_busy"
    assert Job.objects.filter(kind="backups.run").count() == BackupRun.objects.count() == 1
    performed(first)
    assert asked(cellar, tenant="acme").pk != first.pk


def test_of_two_requests_at_once_one_run_is_made_and_the_other_refused(cellar):
    met: list[object] = []

    def second() -> None:
        try:
            met.append(asked(cellar, tenant="acme"))
        except TargetBusy as busy:
            met.append(busy)
        finally:
            connection.close()

    other = Thread(target=second)
    with transaction.atomic():
        asked(cellar)
        other.start()
        other.join(0.3)
        assert other.is_alive()  # it waits for the index
    other.join(20)
    assert [type(each) for each in met] == [TargetBusy]
    assert BackupRun.objects.count() == 1


def test_a_request_that_is_rolled_back_leaves_neither_run_nor_job(cellar):
    with pytest.raises(RuntimeError), transaction.atomic():
        asked(cellar)
        raise RuntimeError
    assert not BackupRun.objects.exists()
    assert not Job.objects.filter(kind="backups.run").exists()


def test_a_target_that_is_not_enabled_and_a_content_nobody_writes_are_refused(cellar):
    with pytest.raises(ContentUnknown):
        asked(cellar, content="films")
    with pytest.raises(ContentUnknown, match="got an empty name"):
        asked(cellar, tenant="")  # as of a variable of a shell that is not set
    BackupTarget.objects.update(enabled=False)
    with pytest.raises(TargetDisabled):
        asked(cellar)


def test_a_run_that_waits_is_cancelled_at_once(cellar, volume):
    run = officers.start(cellar, actor="boss", reason="before the move")
    officers.cancel(run, actor="boss", reason="not today")
    performed(run)
    assert run.state == State.CANCELLED
    assert run.finished_at
    assert not lying(volume)
    with pytest.raises(RunEnded):
        officers.cancel(run, actor="boss", reason="again")
    said = Operation.objects.filter(verb__startswith="backups.").order_by("id")
    assert [(each.verb, each.actor, each.reason) for each in said] == [
        ("backups.start", "boss", "before the move"),
        ("backups.cancel", "boss", "not today"),
    ]


def test_a_run_whose_job_is_gone_is_closed_by_cancel(cellar):
    run = asked(cellar)
    Job.objects.filter(pk=run.job_id).delete()
    officers.cancel(run, actor="boss", reason="stuck")
    run.refresh_from_db()
    assert run.state == State.CANCELLED


@pytest.mark.parametrize("member", [1, 5, CHECKSUMS])
def test_a_cancel_while_it_writes_leaves_nothing(cellar, volume, monkeypatch, member):
    puts: list[str] = []
    put = Fenced.put

    def watched(store: Fenced, name: str, pieces: Any) -> int:
        puts.append(name)
        if len(puts) == member or name.endswith(str(member)):
            store._job.watch.stop = "cancel"
            Job.objects.filter(pk=store._job.id).update(stop_requested="cancel")
        return put(store, name, pieces)

    monkeypatch.setattr(Fenced, "put", watched)
    run = performed(asked(cellar))
    assert run.state == State.CANCELLED
    assert not lying(volume)
    assert complete(cellar) == []


def test_a_cancel_while_it_is_read_back_leaves_no_archive(cellar, volume, monkeypatch):
    finish = ArchiveWriter.finish

    def finished(writer: ArchiveWriter) -> Any:
        made = finish(writer)
        job = writer._store._job  # type: ignore[attr-defined]
        job.watch.stop = "cancel"
        Job.objects.filter(pk=job.id).update(stop_requested="cancel")
        return made

    monkeypatch.setattr(ArchiveWriter, "finish", finished)
    assert performed(asked(cellar)).state == State.CANCELLED
    assert not lying(volume)


def test_a_full_target_ends_the_run_with_its_code_and_nothing_lies_there(
    cellar, volume, monkeypatch
):
    put = LocalTarget.put

    def full(store: LocalTarget, name: str, pieces: Any) -> int:
        def until_full() -> Any:
            for piece in pieces:
                yield piece
                if "leads." in name:
                    raise TargetFull("there is no room left")

        return put(store, name, until_full())

    monkeypatch.setattr(LocalTarget, "put", full)
    run = performed(asked(cellar))
    assert (run.state, run.code) == (State.FAILED, "backups.target_full")
    job = Job.objects.get(pk=run.job_id)
    assert (job.state, job.error_code, job.attempts) == ("DEAD", "backups.target_full", 1)
    assert not lying(volume)


def test_a_wrong_secret_ends_the_run_with_its_code(volume):
    shop = BackupTarget.objects.create(
        name="S",
        kind="s3",
        config={"bucket": "bucket", "access_key": "AKIA"},
        credential=b"not sealed",
    )
    run = performed(asked(shop))
    assert (run.state, run.code) == (State.FAILED, "backups.credential_sealed")


def test_without_a_key_nothing_is_written(cellar, volume, settings):
    settings.BACKUPS_KEYS = ""
    run = performed(asked(cellar))
    assert (run.state, run.code) == (State.FAILED, "backups.keys_unusable")
    assert not lying(volume)


def test_a_fault_that_passes_is_tried_again_as_the_same_run(cellar, volume, settings):
    settings.BACKUPS_VOLUME = str(volume / "not-mounted")
    run = performed(asked(cellar))
    assert (run.state, run.code, run.finished_at) == (
        State.RUNNING,
        "backups.target_unreachable",
        None,
    )
    assert asked(cellar).pk == run.pk
    settings.BACKUPS_VOLUME = str(volume)
    with move_clock(timedelta(hours=1)):
        again = performed(run)
    assert (again.state, again.code) == (State.SUCCEEDED, "")
    assert complete(cellar) == [run.archive]
    assert Job.objects.get(pk=run.job_id).attempts == 2


def test_the_last_attempt_ends_the_run_with_the_job(cellar, volume, settings):
    settings.BACKUPS_VOLUME = str(volume / "not-mounted")
    run = asked(cellar)
    for hours in range(8):
        assert run.state == State.RUNNING
        with move_clock(timedelta(hours=hours)):
            performed(run)
    assert (run.state, run.code) == (State.FAILED, TargetUnreachable.code)
    assert Job.objects.get(pk=run.job_id).state == "DEAD"
    assert asked(cellar).pk != run.pk


def test_what_is_not_sound_when_it_is_read_back_is_no_archive_and_is_written_again(
    cellar, volume, monkeypatch
):
    finish = ArchiveWriter.finish

    def damaged(writer: ArchiveWriter) -> Any:
        made = finish(writer)
        (member,) = volume.rglob("auth.Group.jsonl.zst")
        flip(member)
        return made

    monkeypatch.setattr(ArchiveWriter, "finish", damaged)
    run = performed(asked(cellar))
    assert (run.state, run.code) == (State.RUNNING, "backups.read_back_failed")
    assert run.findings == ["backups.member_damaged"]
    assert run.verified_at is None
    assert complete(cellar) == []
    monkeypatch.undo()
    with move_clock(timedelta(hours=1)):
        assert performed(run).state == State.SUCCEEDED
    assert run.findings == []


def test_an_archive_that_was_complete_when_its_attempt_died_is_read_back_not_written_again(
    cellar, monkeypatch
):
    run = performed(asked(cellar))
    taken = run.snapshot_at
    # As if the process had died between the last byte at the target and the commit of its completion.
    BackupRun.objects.update(
        state="RUNNING", finished_at=None, verified_at=None, snapshot_at=None, transactions=""
    )
    Job.objects.filter(pk=run.job_id).update(state="READY", finished_at=None)
    monkeypatch.setattr(ArchiveWriter, "add_rows", None)
    performed(run)
    assert (run.state, run.snapshot_at) == (State.SUCCEEDED, taken)
    assert run.verified_at


def test_an_attempt_that_lost_its_job_gives_nothing_its_final_name(cellar, monkeypatch):
    put = Fenced.put

    def stolen(store: Fenced, name: str, pieces: Any) -> int:
        if name.endswith(CHECKSUMS):
            Job.objects.filter(pk=store._job.id).update(fence=99)
        return put(store, name, pieces)

    monkeypatch.setattr(Fenced, "put", stolen)
    run = performed(asked(cellar))
    assert run.state == State.RUNNING
    assert complete(cellar) == []


def test_rows_and_logs_hold_no_word_of_what_an_error_said(cellar, monkeypatch, caplog):
    def broken(*args: Any, **more: Any) -> Any:
        raise RuntimeError("the row of Ada")

    monkeypatch.setattr("backups.running.rows.snapshot", broken)
    run = performed(asked(cellar))
    assert (run.state, run.code) == (State.RUNNING, "exception")
    assert "Ada" not in caplog.text
