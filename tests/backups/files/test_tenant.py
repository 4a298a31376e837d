"""A tenant's files come back with its rows, before them, and over nothing."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage

from backups.files import standing
from backups.models import BackupRestore, BackupRun, BackupTarget
from backups.restores import request_restore
from backups.restoring import files
from hubqueue.models import Pause
from tests.backups.files.conftest import hang, made, rows, stored, tree
from tests.backups.restoring.conftest import performed
from tests.support.damage import flip

pytestmark = pytest.mark.django_db(transaction=True)
State = BackupRestore.State


@pytest.fixture
def archived(cellar: BackupTarget) -> BackupRun:
    """An archive of acme's rows and files."""
    for number in range(3):
        hang(file=stored(f"acme/{number}.png", b"%d" % number))
    hang("other", file=stored("other.png", b"other"))
    return made(cellar, tenant="acme")


def asked(run: BackupRun, mode: str) -> BackupRestore:
    return request_restore(run, mode=mode, if_there="skip" if mode == "merge" else "")


def named() -> list[str]:
    return sorted(rows("Picture").values_list("file", flat=True))


@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_rows_come_back_with_their_files_and_other_files_stay(
    archived: BackupRun, media: Path, mode: str
) -> None:
    before, names = tree(media), named()
    rows("Album").filter(tenant_id="acme").delete()
    (media / "acme/0.png").unlink()
    (media / "acme/1.png").write_bytes(b"")  # as a broken write leaves it
    stored("acme/later.png", b"later")
    restore = performed(asked(archived, mode))
    assert (restore.state, restore.code) == (State.SUCCEEDED, "")
    assert named() == names
    assert tree(media) == before | {"media/acme/later.png": b"later"}


@pytest.mark.parametrize("mode", ["merge", "replace", "inspect"])
def test_a_file_with_another_content_is_refused_before_anything_is_changed(
    archived: BackupRun, media: Path, mode: str
) -> None:
    (media / "acme/0.png").unlink()
    (media / "acme/2.png").write_bytes(b"another")
    rows("Picture").filter(file="acme/1.png").delete()
    before, names = tree(media), named()
    restore = performed(asked(archived, mode))
    if mode == "inspect":
        assert (restore.state, restore.report["code"]) == (State.SUCCEEDED, "backups.file_there")
    else:
        assert (restore.state, restore.code) == (State.FAILED, "backups.file_there")
    assert named() == names
    assert tree(media) == before
    assert not Pause.objects.exists()


@pytest.mark.parametrize("mode", ["merge", "replace", "inspect"])
def test_a_damaged_content_is_found_before_anything_is_changed(
    archived: BackupRun, media: Path, tmp_path: Path, mode: str
) -> None:
    damaged = max((tmp_path / "cellar" / archived.archive / "media").rglob("*"))
    flip(damaged)
    (media / "acme/0.png").unlink()
    rows("Picture").filter(file="acme/1.png").delete()
    before, names = tree(media), named()
    restore = performed(asked(archived, mode))
    assert "backups.member_damaged" in (restore.code, restore.report.get("code"))
    assert named() == names
    assert tree(media) == before


def test_a_new_tenant_has_the_same_files(archived: BackupRun, media: Path) -> None:
    before = tree(media)
    (media / "acme/1.png").unlink()
    restore = performed(request_restore(archived, mode="new_tenant", tenant="second"), steps=8)
    assert (restore.state, restore.code) == (State.SUCCEEDED, "")
    assert tree(media) == before
    theirs = rows("Picture").filter(album__tenant_id="second").values_list("file", flat=True)
    assert sorted(theirs) == [f"acme/{number}.png" for number in range(3)]


def test_a_look_tells_of_files(archived: BackupRun) -> None:
    restore = performed(asked(archived, "inspect"))
    assert restore.report["files"] == {"names": 3, "missing": 0, "bytes": 3}


def test_who_takes_over_writes_the_files_that_are_left_before_any_row(
    archived: BackupRun,
    media: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(files, "NOTED", 1)
    before, names = tree(media), named()
    rows("Album").filter(tenant_id="acme").delete()
    for each in (media / "acme").iterdir():
        each.unlink()
    save, saved = FileSystemStorage._save, list[str]()  # type: ignore[attr-defined]

    def dying(storage: Any, name: str, content: Any) -> Any:
        assert named() == ["other.png"]
        saved.append(name)
        if len(saved) == 2:
            raise OSError(28, "no room left for acme/1.png")
        return save(storage, name, content)

    monkeypatch.setattr(FileSystemStorage, "_save", dying)
    restore = performed(asked(archived, "merge"), steps=1)
    assert (restore.state, restore.code) == (State.RUNNING, "backups.file_unwritable")
    assert (restore.phase, restore.line) == ("files", 1)
    assert "acme/1.png" not in caplog.text
    content, looked_at = standing.content, list[str]()

    def watched(storage: Any, name: str, column: str) -> Any:
        looked_at.append(name)
        return content(storage, name, column)

    monkeypatch.setattr(standing, "content", watched)
    restore = performed(restore)
    assert (restore.state, restore.code) == (State.SUCCEEDED, "")
    assert looked_at == ["acme/1.png", "acme/2.png"]
    assert saved == [f"acme/{number}.png" for number in (0, 1, 1, 2)]
    assert tree(media) == before
    assert named() == names
