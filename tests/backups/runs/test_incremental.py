"""A run that holds what changed since the newest sound archive, or is full and says why."""

from datetime import timedelta
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from backups.archive.chain import open_chain
from backups.archive.names import CHECKSUMS
from backups.conf import conf
from backups.errors import ChainBroken, ParentMissing, TargetBusy
from backups.keys import MasterKey
from backups.models import BackupRun, BackupSchedule, BackupTarget, Tombstone
from backups.services import request_run
from backups.sweep import sweep
from backups.targets.opening import open_store
from hubqueue.ids import uuid7
from hubqueue.testing import move_clock, run_due_jobs
from leads.models import Registration
from tests.backups.runs.conftest import KEY
from tests.leads.made import make_event, make_registration

pytestmark = pytest.mark.django_db(transaction=True)
State = BackupRun.State
REGISTRATIONS = "leads.Registration"


def asked(target: BackupTarget, mode: str = "incremental", **more: Any) -> BackupRun:
    return request_run(target, trigger="manual", mode=mode, **more)


def performed(run: BackupRun, state: str = State.SUCCEEDED) -> BackupRun:
    run_due_jobs(queues=["backups"])
    found = BackupRun.objects.select_related("parent").get(pk=run.pk)
    assert (found.state, found.findings) == (state, []), found.code
    return found


def made(target: BackupTarget, mode: str = "incremental", **more: Any) -> BackupRun:
    return performed(asked(target, mode, **more))


def chain_of(target: BackupTarget, run: BackupRun) -> list[dict[str, Any]]:
    with open_store(target) as store:
        found = open_chain(store, run.archive, conf().keys, encrypted=True)
    return [each.manifest.counts for each in found]


def directories(volume: Path) -> set[str]:
    return {each.name for each in (volume / "cellar").iterdir() if each.is_dir()}


def test_it_holds_what_changed_since_the_newest_sound_archive(
    cellar: BackupTarget, volume: Path
) -> None:
    event = make_event()
    kept, lost = make_registration(event), make_registration(event)
    full = made(cellar, "full")
    Registration.objects.filter(pk=kept.pk).update(name="Other")
    first = made(cellar)
    Registration.objects.filter(pk=lost.pk).delete()
    second = made(cellar)
    assert [run.mode for run in (full, first, second)] == ["full", "incremental", "incremental"]
    assert (first.parent, second.parent) == (full, first)
    assert first.archive.endswith("-incremental")
    assert not any(run.promoted for run in (full, first, second))
    counts = [each[REGISTRATIONS] for each in chain_of(cellar, second)]
    assert counts == [2, 1, 0]
    # What is not declared incremental is whole in each.
    assert {each["leads.Event"] for each in chain_of(cellar, second)} == {1}
    with open_store(cellar) as store:
        archive = open_chain(store, second.archive, conf().keys)[-1]
        assert b"".join(archive.gone(REGISTRATIONS) or ()) == f'{{"id" : "{lost.pk}"}}\n'.encode()
    about = archive.manifest
    assert about.parent is not None
    assert (about.parent.archive, about.period.since) == (first.pk, first.snapshot_at)


@pytest.mark.parametrize(
    ("more", "why"),
    [({}, "backups.nothing_to_continue"), ({"tenant": "acme"}, "backups.never_incremental")],
)
def test_with_nothing_to_go_on_from_it_is_full_and_says_why(
    cellar: BackupTarget, more: dict[str, Any], why: str
) -> None:
    make_event(tenant_id="acme")
    run = made(cellar, **more)
    assert (run.mode, run.parent, run.promoted) == ("full", None, why)
    assert run.archive.endswith("-full")


def test_an_equal_request_is_answered_though_the_run_became_full(cellar: BackupTarget) -> None:
    first = asked(cellar)
    assert first.mode == "full"
    assert asked(cellar).pk == first.pk
    with pytest.raises(TargetBusy):
        asked(cellar, "full")


def test_what_is_not_sound_or_goes_or_is_of_another_is_not_gone_on_from(
    cellar: BackupTarget, volume: Path
) -> None:
    full, first, second = made(cellar, "full"), made(cellar), made(cellar)
    make_event(tenant_id="acme")
    made(cellar, "full", tenant="acme")
    BackupRun.objects.filter(pk=first.pk).update(findings=["backups.member_damaged"])
    # The newest rests on it.
    third = made(cellar)
    assert third.parent == full
    BackupRun.objects.filter(pk__in=[second.pk, third.pk]).update(verified_at=None)
    BackupRun.objects.filter(pk=full.pk).update(expiring_at=full.finished_at)
    assert made(cellar).promoted == "backups.nothing_to_continue"
    other = BackupTarget.objects.create(name="Attic", kind="local", config={"path": "attic"})
    assert made(other).promoted == "backups.nothing_to_continue"


def test_a_parent_that_is_gone_or_broken_at_the_target_makes_it_full(
    cellar: BackupTarget, volume: Path
) -> None:
    full, first = made(cellar, "full"), made(cellar)
    run = asked(cellar)
    assert run.mode == "incremental"
    rmtree(volume / "cellar" / full.archive)  # that of the parent
    promoted = performed(run)
    assert (promoted.mode, promoted.parent) == ("full", None)
    assert promoted.promoted == ParentMissing.code
    assert promoted.archive == run.archive.replace("incremental", "full")
    assert directories(volume) == {first.archive, promoted.archive}
    run = asked(cellar)
    assert run.parent == promoted
    (member,) = (volume / "cellar" / promoted.archive).rglob("auth.Group.jsonl.zst")
    member.unlink()
    assert performed(run).promoted == "backups.member_missing"


def test_another_archive_in_the_place_of_a_parent_makes_it_full(
    cellar: BackupTarget, volume: Path
) -> None:
    """As a copy of the database that goes on at the same target would leave it."""
    full, run = made(cellar, "full"), made(cellar)
    BackupRun.objects.filter(pk=run.pk).update(id=uuid7())
    third = made(cellar)
    assert (third.mode, third.promoted) == ("full", ChainBroken.code)
    assert full.pk != third.pk


def test_a_new_key_or_other_migrations_make_it_full(cellar: BackupTarget, settings: Any) -> None:
    made(cellar, "full")
    settings.BACKUPS_KEYS = f"{MasterKey('two', bytes(32)).text},{KEY.text}"
    assert made(cellar).promoted == "backups.other_options"
    recorder = MigrationRecorder(connection)
    recorder.record_applied("leads", "0999_more")
    try:
        assert made(cellar).promoted == "backups.other_history"
        assert made(cellar).promoted == ""
    finally:
        recorder.record_unapplied("leads", "0999_more")


def test_other_declarations_make_it_full(
    cellar: BackupTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(cellar, "full")
    monkeypatch.setattr("backups.running.rows.options_of", lambda chosen: "others")
    assert made(cellar).promoted == "backups.other_options"


def test_an_attempt_after_one_that_wrote_becomes_full_in_a_directory_of_its_own(
    cellar: BackupTarget, volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, run = made(cellar, "full"), asked(cellar)

    def broken(*args: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr("backups.archive.write.checksums", broken)
    performed(run, State.RUNNING)
    assert (volume / "cellar" / run.archive).is_dir()
    monkeypatch.undo()
    rmtree(volume / "cellar" / full.archive)
    with move_clock(timedelta(hours=1)):
        again = performed(run)
    assert (again.mode, again.promoted) == ("full", "backups.archive_missing")
    assert (volume / "cellar" / again.archive / CHECKSUMS).is_file()
    assert not (volume / "cellar" / run.archive / CHECKSUMS).exists()
    with move_clock(timedelta(days=8)), open_store(cellar) as store:
        assert sweep(cellar, store) == 1
    assert directories(volume) == {again.archive}


def test_deletions_are_forgotten_when_what_could_ask_for_them_expired(cellar: BackupTarget) -> None:
    nothing = dict.fromkeys(("keep_daily", "keep_weekly", "keep_monthly", "keep_yearly"), 0)
    schedule = BackupSchedule.objects.create(
        name="Nightly", target=cellar, rule="0 3 * * *", keep_last=1, min_keep=1, **nothing
    )
    Tombstone.objects.all().delete()
    registration = make_registration(make_event())
    old = request_run(cellar, trigger="schedule", schedule=schedule)
    performed(old)
    registration.delete()
    assert Tombstone.objects.filter(key__isnull=False).count() == 1
    new = request_run(cellar, trigger="schedule", schedule=schedule)
    performed(new)
    run_due_jobs(queues=["backups"])
    assert BackupRun.objects.get(pk=old.pk).state == State.EXPIRED
    assert not Tombstone.objects.exists()
