"""Files come back under exactly the names that rows have, over nothing that is there, and nowhere else."""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage

from backups.archive.chain import open_chain
from backups.archive.manifest import About, Manifest, Snapshot
from backups.archive.read import Archive, open_archive
from backups.archive.write import ArchiveWriter
from backups.data.snapshot import snapshot
from backups.data.spec import discover
from backups.data.tables import tables
from backups.errors import FileThere, MemberDamaged, MemberMissing, NameOutside, SchemaAhead
from backups.files.give import Counted, give_files, refuse_files
from backups.files.listed import Listed, line
from backups.files.names import names
from backups.files.take import take
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, RING, STARTED, about, incremental, pieces
from tests.backups.files.conftest import hang, scanned, storages, stored, tree
from tests.support.damage import flip

pytestmark = pytest.mark.django_db(transaction=True)
SUN, MOON = b"the sun" * 1000, bytes(700_000)
FILE, SCAN = "gallery.Picture.file", "gallery.Picture.scan"
Chain = Sequence[Archive]


@pytest.fixture
def attic(media: Path) -> Path:
    return media.with_name("media-attic")


@pytest.fixture
def chain(media: Path, tmp_path: Path, emptied: None) -> Iterator[Chain]:
    """A full archive and an incremental one, of three files and of one that was missing."""
    hang(file=stored("a/sun.png", SUN), scan=scanned("moon.png", MOON))
    hang(file="gone.png")
    with Directory(tmp_path / "target") as store:
        full = archived(store, about())
        hang(file=stored("Ä %s 100% .png", b""))
        later = Snapshot(at=STARTED + timedelta(hours=1), transactions="20:20:")
        last = archived(store, incremental(full, snapshot=later), full.contents)
        yield open_chain(store, str(last.name), RING)


def archived(store: Directory, told: About, held: Collection[str] = ()) -> Manifest:
    """The files that rows name now, without their rows."""
    chosen = [each for each in tables(discover()) if each.label.startswith("gallery.")]
    writer = ArchiveWriter(store, told, KEY)
    with snapshot(chosen) as taken, names(taken, chosen) as named:
        taken.end()
        take(named, storages(), writer, held=held)
    return writer.finish()


def test_all_files_come_back_under_their_names(chain: Chain, media: Path, attic: Path) -> None:
    stored("nobody names it", b"x")
    before = tree(media, attic)
    rmtree(media)
    rmtree(attic)
    assert refuse_files(chain, storages()) == Counted(4, 1, len(SUN) + len(MOON))
    assert not media.exists()
    told: list[int] = []
    assert give_files(chain, storages(), told=told.append) == 4
    assert told == [1, 2, 3, 4]
    del before["media/nobody names it"]
    assert tree(media, attic) == before


def test_a_file_is_on_the_disk_before_it_counts_as_done(
    chain: Chain, media: Path, attic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rmtree(media)
    rmtree(attic)
    fsync, settled = os.fsync, list[Path]()

    def watched(opened: int) -> None:
        settled.append(Path(f"/proc/self/fd/{opened}").readlink())
        fsync(opened)

    monkeypatch.setattr(os, "fsync", watched)
    told = list[int]()
    give_files(chain, storages(), told=lambda done: told.append(len(settled)))
    files = [root / name for root, name in ((media, "a/sun.png"), (attic, "moon.png"))]
    assert settled[:4] == [files[0], files[0].parent, files[1], files[1].parent]
    assert told == [2, 2, 4, 6]


def test_what_is_there_with_the_same_content_is_left(
    chain: Chain, media: Path, attic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FileSystemStorage, "_save", None)
    before = tree(media, attic)
    refuse_files(chain, storages())
    give_files(chain, storages())
    assert tree(media, attic) == before


@pytest.mark.parametrize("other", [SUN[:-1] + b"!", SUN + b"!", b"another", SUN[:5] + b"!"])
def test_what_is_there_with_another_content_is_refused_before_anything_is_written(
    chain: Chain, media: Path, attic: Path, other: bytes
) -> None:
    rmtree(attic)
    (media / "a/sun.png").write_bytes(other)
    before = tree(media)
    for verb in (refuse_files, give_files):
        with pytest.raises(FileThere, match=rf"File \d of the archive, of {FILE}, is") as refused:
            verb(chain, storages())  # type: ignore[operator]
        assert "sun" not in str(refused.value)
        assert (media / "a/sun.png").read_bytes() == other
    assert tree(media) == before


@pytest.mark.parametrize("left", [0, 1, 6999])
def test_a_file_that_was_broken_off_is_written_anew(chain: Chain, media: Path, left: int) -> None:
    (media / "a/sun.png").write_bytes(SUN[:left])
    refuse_files(chain, storages())
    assert (media / "a/sun.png").read_bytes() == SUN[:left]
    give_files(chain, storages())
    assert (media / "a/sun.png").read_bytes() == SUN


@pytest.mark.parametrize("damage", ["a bit", "cut", "missing"])
def test_of_a_damaged_content_no_piece_is_written(
    chain: Chain, media: Path, tmp_path: Path, damage: str
) -> None:
    rmtree(media)
    (lying,) = (tmp_path / "target").rglob(sha256(SUN).hexdigest())
    sound = lying.read_bytes()
    match damage:
        case "a bit":
            flip(lying)
        case "cut":
            lying.write_bytes(sound[:-20])
        case _:
            lying.unlink()
    with pytest.raises((MemberDamaged, MemberMissing)):
        give_files(chain, storages())
    assert SUN[:7] not in b"".join(tree(media).values())
    with pytest.raises((MemberDamaged, MemberMissing)):
        refuse_files(chain, storages(), examine=True)


class Died(BaseException):
    """As if the process had."""


def test_who_comes_after_a_death_goes_on_behind_what_was_noted(
    chain: Chain, media: Path, attic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(media, attic)
    rmtree(media)
    rmtree(attic)
    save, done = FileSystemStorage._save, list[int]()  # type: ignore[attr-defined]

    def dying(storage: Any, name: str, content: Any) -> str:
        if len(done) == 2:
            path = Path(storage.path(name))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read(3))
            raise Died
        return str(save(storage, name, content))

    with monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr(FileSystemStorage, "_save", dying)
        give_files(chain, storages(), told=done.append)
    assert tree(media, attic) != before
    assert give_files(chain, storages(), after=done[-1]) == 4
    assert tree(media, attic) == before


def test_who_was_faster_under_a_name_keeps_it(
    chain: Chain, media: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rmtree(media)
    save = FileSystemStorage.save

    def slow(storage: Any, name: str, content: Any) -> str:
        (media / "a").mkdir(parents=True, exist_ok=True)
        (media / name).write_bytes(b"theirs")
        return str(save(storage, name, content))

    monkeypatch.setattr(FileSystemStorage, "save", slow)
    with pytest.raises(FileThere):
        give_files(chain, storages())
    assert {*tree(media).values()} == {b"theirs"}


@contextmanager
def forged(root: Path, listed: Listed) -> Iterator[Chain]:
    """An archive that somebody made who has the key."""
    with Directory(root) as store:
        writer = ArchiveWriter(store, about(), KEY)
        writer.add_media(listed.sha256 or "", lambda: pieces(SUN))
        writer.add_files([line(listed)])
        yield [open_archive(store, str(writer.finish().name), RING)]


def of_sun(**changes: Any) -> Listed:
    known = {"column": FILE, "name": "x", "sha256": sha256(SUN).hexdigest(), "bytes": len(SUN)}
    return Listed(**known | changes)


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "a/../../x",
        "..",
        "/x",
        "..\\x",
        "\\x",
        "a\\b",
        "a\0b",
        "a\\..\\..\\x",
        ".",
        "a/..",
        "{root}/x",
    ],
)
def test_no_name_in_an_archive_leads_out_of_the_storage(
    media: Path, tmp_path: Path, name: str
) -> None:
    media.mkdir()
    listed = of_sun(name=name.format(root=tmp_path))
    with forged(tmp_path / "forged", listed) as chain:
        before = tree(tmp_path)
        for verb in (refuse_files, give_files):
            with pytest.raises(NameOutside, match="of file 1 of the archive"):
                verb(chain, storages())  # type: ignore[operator]
        assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"column": "gallery.Picture.preview"}, SchemaAhead),
        ({"column": "auth.User.password"}, SchemaAhead),
        ({"sha256": "0" * 64}, MemberMissing),
    ],
)
def test_files_of_other_columns_and_without_a_content_are_refused(
    media: Path, tmp_path: Path, changes: dict[str, Any], refused: type[Exception]
) -> None:
    with Directory(tmp_path / "forged") as store:
        writer = ArchiveWriter(store, about(), KEY)
        writer.add_files([line(of_sun(**changes))])
        chain = [open_archive(store, str(writer.finish().name), RING)]
        for verb in (refuse_files, give_files):
            with pytest.raises(refused):
                verb(chain, storages())  # type: ignore[operator]
    assert not media.exists()


@pytest.mark.parametrize(
    "given", [b"{}\n", b"no line\n", line(of_sun(name="x"))[:-2] + b',"z":1}\n']
)
def test_a_line_that_names_no_file_is_damage(media: Path, tmp_path: Path, given: bytes) -> None:
    with Directory(tmp_path / "forged") as store:
        writer = ArchiveWriter(store, about(), KEY)
        writer.add_files([given])
        chain = [open_archive(store, str(writer.finish().name), RING)]
        with pytest.raises(MemberDamaged, match="Line 1 of the lists of files"):
            refuse_files(chain, storages())
