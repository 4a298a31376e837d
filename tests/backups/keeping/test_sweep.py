"""What died unfinished is swept after seven days; a target that does not answer keeps no other waiting."""

import logging

import pytest

from backups.archive.owner import note_owner, owner_of
from backups.archive.write import ArchiveWriter
from backups.expiry import expire_after
from backups.installation import own_name
from backups.models import BackupRun, BackupTarget
from backups.services import request_run
from backups.sweep import sweep
from backups.sweep_handler import sweep_target, sweep_targets
from hubqueue.registry import registry
from hubqueue.testing import enqueued, move_clock, run_due_jobs
from tests.backups.archive.made import write
from tests.backups.keeping.made import (
    Dying,
    Keeping,
    Killed,
    Run,
    ago,
    archive,
    complete,
    run,
    states,
)

pytestmark = pytest.mark.django_db


def unfinished(store, schedule, *, days, state=Run.FAILED):
    """An archive without checksums, and its run."""
    made = archive(store, schedule, days=days, state=state)
    store.delete(f"{made.archive}/checksums.txt")
    return made


def directories(store):
    return {each.name for each in store.root.iterdir()}


def test_unfinished_archives_of_ours_go_after_seven_days_with_a_row_or_without(
    store, schedule, target
):
    gone = unfinished(store, schedule, days=8)
    lost = unfinished(store, schedule, days=9)
    note_owner(store, lost.archive, own_name())
    lost.delete()
    young = unfinished(store, schedule, days=6)
    whole = archive(store, schedule, days=30)
    assert sweep(target, store) == 2
    assert directories(store) == {young.archive, whole.archive}
    assert states(gone) == ["FAILED"]
    assert sweep(target, store) == 0


def test_of_an_installation_that_shares_the_path_and_of_a_copy_under_way_nothing_goes(
    store, schedule, target, settings
):
    theirs, copied = unfinished(store, schedule, days=9), unfinished(store, schedule, days=8)
    before = settings.SECRET_KEY
    settings.SECRET_KEY = "another installation's"
    note_owner(store, theirs.archive, own_name())
    BackupRun.objects.all().delete()
    settings.SECRET_KEY = before
    assert sweep(target, store) == 0
    assert directories(store) == {theirs.archive, copied.archive}
    settings.SECRET_KEY_FALLBACKS = ["another installation's"]  # it was ours, before a rotation
    assert sweep(target, store) == 1
    assert directories(store) == {copied.archive}


def test_a_run_says_whose_its_archive_is_until_it_is_complete(store, target, monkeypatch):
    made = request_run(target, trigger="manual")
    seen = []
    finish = ArchiveWriter.finish

    def watched(writer):
        seen.append(owner_of(store, writer.name))
        return finish(writer)

    monkeypatch.setattr(ArchiveWriter, "finish", watched)
    run_due_jobs(kinds=["backups.run"], raise_failures=True)
    assert seen == [own_name()]
    made.refresh_from_db()
    assert owner_of(store, made.archive) == ""
    assert complete(store) == [made.archive]


def test_what_is_foreign_running_or_lost_its_checksums_otherwise_is_not_touched(
    store, schedule, target
):
    for name in ("photos/cat.jpg", "hubqueue-backup-notes/a.txt", "readme"):
        store.put(name, [b"mine"])
    running = unfinished(store, schedule, days=9)
    BackupRun.objects.filter(pk=running.pk).update(state=Run.RUNNING, finished_at=None)
    damaged = unfinished(store, schedule, days=20, state=Run.SUCCEEDED)
    assert sweep(target, store) == 0
    ours = {running.archive, damaged.archive}
    assert directories(store) == ours | {"photos", "hubqueue-backup-notes", "readme"}


def test_a_running_run_that_has_not_noted_its_archive_is_told_by_its_start(store, target):
    started = ago(days=8)
    name = str(write(store, started=started).name)
    store.delete(f"{name}/checksums.txt")
    run(target, started=started, state=Run.RUNNING)
    assert sweep(target, store) == 0
    assert directories(store) == {name}


def test_parts_that_no_listing_shows_go_too(store, schedule, target):
    dead = run(target, started=ago(days=8), state=Run.FAILED, schedule=schedule)
    dead.archive = "hubqueue-backup-installation-20261101T000000.000000Z-full"
    dead.save()
    part = store.root / dead.archive / "data" / ".part-0123456789abcdef"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"half")
    assert not list(store.list())
    sweep(target, store)
    assert not part.exists()


def test_an_expiry_that_died_is_brought_to_its_end_without_its_schedule(volume, schedule, target):
    with Dying(volume / "target") as store:
        old, new = archive(store, schedule, days=2), archive(store, schedule, days=1)
        store.steps = 3
        with pytest.raises(Killed):
            expire_after(new, store)
        schedule.delete()
        store.steps = 99
        sweep(target, store)
        assert states(old, new) == ["EXPIRED", "SUCCEEDED"]
        assert directories(store) == {new.archive}


def test_an_object_that_is_kept_is_told_and_the_others_go_on(volume, schedule, target, caplog):
    with Keeping(volume / "target") as store:
        first, second = (unfinished(store, schedule, days=days) for days in (9, 8))
        store.kept = [f"{first.archive}/manifest.json"]
        with caplog.at_level(logging.WARNING, "backups"):
            assert sweep(target, store) == 1
        assert "backups.object_kept" in caplog.text
        assert directories(store) == {first.archive}
        assert not complete(store)


def test_each_enabled_target_is_swept_once_a_day_by_a_job_of_its_own(
    store, schedule, target, caplog
):
    dead = BackupTarget.objects.create(name="Dead", kind="local", config={"path": "x" * 300})
    BackupTarget.objects.create(name="Off", kind="local", config={"path": "off"}, enabled=False)
    unfinished(store, schedule, days=8)
    assert registry.duties["backups.sweep"].cadence == "day"
    sweep_targets()
    sweep_targets()
    assert {job.payload["target_id"] for job in enqueued(sweep_target)} == {
        str(dead.pk),
        str(target.pk),
    }
    with caplog.at_level(logging.WARNING, "backups"):
        for hours in (0, 1, 2, 3):
            with move_clock(sweep_target.backoff.cap * hours):
                run_due_jobs(kinds=[sweep_target])
    assert not directories(store)
    assert not enqueued(sweep_target)
    assert [each for each in caplog.messages if "was not swept" in each] == [
        f"target {dead.pk} was not swept: backups.config_refused"
    ]
