"""What is written comes back, from the target and the master key alone; what is not whole is no archive."""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from backups.archive.listing import State, archives
from backups.archive.manifest import Manifest
from backups.archive.read import open_archive, read_manifest
from backups.archive.sealed import CHUNK
from backups.archive.verify import verify
from backups.archive.write import ArchiveWriter
from backups.errors import (
    ArchiveExists,
    ArchiveMissing,
    ArchiveUnfinished,
    ContentDiffers,
    KeyMissing,
    MemberMissing,
    SizeDiffers,
)
from backups.keys import KeyRing, MasterKey
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import (
    KEY,
    MEDIA,
    RING,
    ROWS,
    about,
    expected,
    fill,
    incremental,
    pieces,
    read,
    write,
)
from tests.conftest import CHECKOUT
from tests.support.damage import flip

KEYS = pytest.mark.parametrize("key", [KEY, None], ids=["encrypted", "plain"])


@KEYS
def test_what_is_written_comes_back(store: Directory, key: MasterKey | None) -> None:
    name = str(write(store, key).name)
    assert read(store, name) == expected()
    assert verify(store, name, RING).findings == ()


def test_the_layout_is_the_one_that_is_promised(store: Directory) -> None:
    name = str(write(store).name)
    assert name == "hubqueue-backup-installation-20261130T033147.123456Z-full"
    media = sorted(f"media/{each[:2]}/{each}" for each in MEDIA)
    rows = [f"data/{label}.jsonl.zst" for label in ROWS]
    kept = {each.name.removeprefix(f"{name}/") for each in store.list()}
    assert kept == {*rows, *media, "manifest.json", "checksums.txt"}
    assert [Path(told).name for verb, told in store.asked if verb == "put"][-1] == "checksums.txt"
    assert [each.path for each in read_manifest(store, name)[0].members][:3] == rows


@KEYS
@pytest.mark.parametrize("length", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 1_000_000])
def test_members_of_every_size_come_back(
    store: Directory, key: MasterKey | None, length: int
) -> None:
    noise = Random(length).randbytes(length)
    media = {sha256(noise).hexdigest(): noise}
    rows = {"leads.lead": [b'"%s"\n' % noise.hex().encode()] * 2}
    name = str(write(store, key, rows=rows, media=media).name)
    assert read(store, name) == expected(rows, media)
    assert verify(store, name, RING).sound


def test_records_come_in_pieces_of_any_size(store: Directory) -> None:
    whole = b"".join(ROWS["leads.lead"])
    halves = {"leads.lead": [whole[:35], b"", whole[35:]]}
    manifest = write(store, rows=halves)
    assert manifest.counts == {"leads.lead": 30}
    assert read(store, str(manifest.name))["leads.lead"] == expected()["leads.lead"]


def test_sha256sum_reads_the_checksums(store: Directory) -> None:
    path = store.root / str(write(store).name)
    check = ["sha256sum", "--strict", "-c", "checksums.txt"]
    done = subprocess.run(check, cwd=path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": OK\n") == len(ROWS) + len(MEDIA) + 1
    (path / "data/leads.lead.jsonl.zst").write_bytes(b"something else")
    assert subprocess.run(check, cwd=path, capture_output=True, check=False).returncode == 1


def test_zstd_and_the_names_are_all_that_a_plain_archive_needs(store: Directory) -> None:
    from backups.archive.packing import zstd

    path = store.root / str(write(store, None).name)
    packed = (path / "data/leads.lead.jsonl.zst").read_bytes()
    assert zstd.decompress(packed) == b"".join(ROWS["leads.lead"])
    for digest, content in MEDIA.items():
        assert (path / "media" / digest[:2] / digest).read_bytes() == content


def test_an_archive_opens_after_its_key_was_replaced(store: Directory) -> None:
    name = str(write(store).name)
    new = MasterKey.new()
    rotated = KeyRing.parse(f"{new.text},{KEY.text}")
    assert read(store, name, rotated) == expected()
    after = write(store, rotated.writing, scope="tenant-7")
    assert after.encryption
    assert after.encryption.key_id == new.id
    with pytest.raises(KeyMissing, match=f"'{KEY.id}', which BACKUPS_KEYS does not hold"):
        read(store, name, KeyRing((new,)))


def test_nothing_of_the_content_can_be_read_in_an_encrypted_archive(store: Directory) -> None:
    name = str(write(store).name)
    everything = b"".join(each.read_bytes() for each in store.root.rglob("*") if each.is_file())
    assert b"Night Trains" not in everything
    assert b"a picture" not in everything
    assert KEY.secret not in everything
    assert "secret" not in repr(RING)
    assert re.search(r"Night|picture", (store.root / name / "manifest.json").read_text()) is None


def test_two_writings_of_the_same_are_encrypted_differently(store: Directory) -> None:
    same = about()
    first = ArchiveWriter(store, same, KEY)
    second = ArchiveWriter(store, same, KEY)
    rows = ROWS["leads.lead"]
    assert first.add_rows("leads.lead", rows).sha256 != second.add_rows("leads.lead", rows).sha256


@pytest.mark.parametrize("written", range(len(ROWS) + len(MEDIA) + 2))
def test_a_run_that_ends_anywhere_leaves_nothing_that_counts(
    store: Directory, written: int
) -> None:
    class Dying(Directory):
        def put(self, name: str, pieces: Iterable[bytes]) -> int:
            if len(self.asked) < written:
                return super().put(name, pieces)

            def cut() -> Iterator[bytes]:
                yield next(iter(pieces), b"")
                raise OSError("the machine is gone")

            return super().put(name, cut())

    told = about()
    with pytest.raises(OSError, match="the machine is gone"), Dying(store.root) as dying:
        writer = ArchiveWriter(dying, told, KEY)
        fill(writer)
        writer.finish()
    name = str(told.name)
    assert {each.state for each in archives(store)} <= {State.UNFINISHED}
    with pytest.raises(ArchiveUnfinished if written else ArchiveMissing):
        open_archive(store, name, RING)
    report = verify(store, name, RING)
    assert report.findings[0].code.startswith("backups.archive_")

    again = ArchiveWriter(store, told, KEY)  # and the next attempt completes it
    fill(again)
    again.finish()
    assert read(store, name) == expected()


@KEYS
def test_a_new_attempt_keeps_whole_media_and_writes_every_row_again(
    store: Directory, key: MasterKey | None
) -> None:
    told = about()
    fill(ArchiveWriter(store, told, key), {"leads.event": ROWS["leads.event"]})
    store.asked.clear()

    again = ArchiveWriter(store, told, key)
    for digest in MEDIA:
        again.add_media(digest, partial(pytest.fail, "the content is there"))
    again.add_rows("leads.lead", ROWS["leads.lead"])
    manifest = again.finish()

    puts = [name.split("/", 1)[1] for verb, name in store.asked if verb == "put"]
    assert puts == ["data/leads.lead.jsonl.zst", "manifest.json", "checksums.txt"]
    assert verify(store, str(manifest.name), RING).sound
    kept = {each.name.split("/", 1)[1] for each in store.list()}
    assert "data/leads.event.jsonl.zst" not in kept  # the earlier attempt's, of another snapshot


@pytest.mark.parametrize("damage", ["cut", "changed", "under another key"])
def test_media_that_are_not_whole_are_sent_again(store: Directory, damage: str) -> None:
    told, key = about(), KEY
    fill(ArchiveWriter(store, told, KEY), {})
    (path,) = [each for each in (store.root / str(told.name)).rglob("*") if MEDIA.get(each.name)]
    match damage:
        case "cut":
            path.write_bytes(path.read_bytes()[:-1])
        case "changed":
            flip(path)
        case _:
            key = MasterKey.new()
    again = ArchiveWriter(store, told, key)
    fill(again)
    again.finish()
    assert read(store, str(told.name), KeyRing((key,))) == expected()


def test_a_content_is_stored_once(store: Directory) -> None:
    writer = ArchiveWriter(store, about(), KEY)
    digest = sha256(b"x").hexdigest()
    first = writer.add_media(digest, lambda: pieces(b"x"))
    assert writer.add_media(digest, partial(pytest.fail, "it is there")) == first
    assert writer.finish().media.count == 1


def test_a_complete_archive_is_never_written_again(store: Directory) -> None:
    told = about()
    ArchiveWriter(store, told, KEY).finish()
    with pytest.raises(ArchiveExists, match="is complete: it is not written again"):
        ArchiveWriter(store, told, KEY)


def test_a_target_that_stores_less_than_was_sent_is_noticed(store: Directory) -> None:
    class Losing(Directory):
        def put(self, name: str, pieces: Iterable[bytes]) -> int:
            super().put(name, pieces)
            with (self.root / name).open("r+b") as file:
                file.truncate(7)
            return 7

    with Losing(store.root) as losing:
        writer = ArchiveWriter(losing, about(), KEY)
        with pytest.raises(
            SizeDiffers, match="reports 7 bytes for data/leads.lead.jsonl.zst, of"
        ) as refused:
            writer.add_rows("leads.lead", ROWS["leads.lead"])
    assert refused.value.passing
    assert list(store.list()) == []


def test_a_target_that_has_nothing_of_what_it_took_is_noticed(store: Directory) -> None:
    class Forgetting(Directory):
        def put(self, name: str, pieces: Iterable[bytes]) -> int:
            super().put(name, pieces)
            self.delete(name)
            return self.size(name)

    with Forgetting(store.root) as forgetting:
        writer = ArchiveWriter(forgetting, about(), KEY)
        with pytest.raises(SizeDiffers, match="has nothing of it"):
            writer.add_rows("leads.lead", ROWS["leads.lead"])


def test_what_is_not_what_it_is_said_to_be_is_not_written(store: Directory) -> None:
    writer = ArchiveWriter(store, about(), KEY)
    with pytest.raises(ContentDiffers, match="another digest"):
        writer.add_media("0" * 64, lambda: pieces(b"x"))
    with pytest.raises(ContentDiffers, match="must be one line"):
        writer.add_rows("leads.lead", [b'{"id": 1}'])
    with pytest.raises(ValueError, match="named app.model"):
        writer.add_rows("../../etc", [])
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        writer.add_media("../x", lambda: pieces(b"x"))
    assert list(store.list()) == []


def test_rows_of_a_model_are_added_once(store: Directory) -> None:
    writer = ArchiveWriter(store, about(), KEY)
    writer.add_rows("leads.lead", [])
    with pytest.raises(ValueError, match="in the archive already"):
        writer.add_rows("leads.lead", [])


def test_an_incremental_archive_names_its_parent(store: Directory) -> None:
    parent = write(store)
    told = incremental(parent)
    ArchiveWriter(store, told, KEY).finish()
    manifest, _ = read_manifest(store, str(told.name))
    assert manifest.parent
    assert (manifest.parent.archive, manifest.parent.name) == (parent.archive, str(parent.name))
    assert str(told.name).endswith("-incremental")
    with pytest.raises(ValueError, match="has a parent"):
        about(mode=told.mode)


def test_what_is_not_in_an_archive_is_refused(store: Directory) -> None:
    archive = open_archive(store, str(write(store).name), RING)
    with pytest.raises(MemberMissing, match="holds no data/leads.other.jsonl.zst"):
        archive.rows("leads.other")


@pytest.mark.parametrize("name", ["", "..", "../x", "installation", "/"])
def test_a_name_that_is_no_archives_is_not_asked_for(store: Directory, name: str) -> None:
    with pytest.raises(ArchiveMissing, match="got another name"):
        open_archive(store, name, RING)
    assert store.asked == []


MEASURE = """
import sys
from hashlib import sha256
from pathlib import Path
from backups.archive.write import ArchiveWriter
from backups.archive.read import open_archive
from tests.backups.archive.made import KEY, RING, about
from tests.backups.archive.directory import Directory

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024

def content(megabytes):
    for number in range(16 * megabytes):
        yield sha256(b"%d" % number).digest() * 2048

def round_trip(store, megabytes):
    digest = sha256()
    for piece in content(megabytes):
        digest.update(piece)
    told = about(scope=f"tenant-{megabytes}")
    writer = ArchiveWriter(store, told, KEY)
    writer.add_media(digest.hexdigest(), lambda: content(megabytes))
    writer.add_rows("leads.lead", (piece.hex().encode() + b"\\n" for piece in content(megabytes)))
    manifest = writer.finish()
    archive = open_archive(store, str(told.name), RING)
    assert sum(map(len, archive.media(digest.hexdigest()))) == megabytes * 1024**2
    assert sum(map(len, archive.rows("leads.lead"))) == 2 * megabytes * 1024**2 + 16 * megabytes

store = Directory(Path(sys.argv[1]))
round_trip(store, 2)
before = peak()
round_trip(store, 64)
print(peak() - before)
"""


def test_memory_does_not_grow_with_a_member(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(tmp_path)],
        cwd=CHECKOUT,
        env={"PYTHONPATH": str(CHECKOUT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 16  # MiB, for members of 64 and 128


def test_the_manifest_names_what_is_in_the_archive(store: Directory) -> None:
    manifest: Manifest = write(store)
    assert manifest.counts == {label: len(lines) for label, lines in ROWS.items()}
    assert (manifest.media.count, manifest.media.bytes) == (2, len(b"a picture"))
    assert read_manifest(store, str(manifest.name))[0].members == manifest.members
    for member in manifest.members:
        assert member.bytes == store.size(f"{manifest.name}/{member.path}")
