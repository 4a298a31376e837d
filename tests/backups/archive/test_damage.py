"""Damage of any kind, anywhere, is refused in words before anything of what it hit is handed out."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backups.archive.manifest import parsed
from backups.archive.packing import packed, unpacked
from backups.archive.read import open_archive
from backups.archive.schema import known, refuse_ahead
from backups.archive.sealed import CHUNK, MAGIC, SALT, TAG, opened, sealed
from backups.archive.verify import Progress, verify
from backups.data.lines import lines
from backups.errors import (
    ArchiveError,
    FormatUnknown,
    KeyMissing,
    KeyWrong,
    ManifestAltered,
    ManifestUnreadable,
    MemberDamaged,
    MemberMissing,
    NotEncrypted,
    SchemaAhead,
)
from backups.keys import KeyRing, MasterKey, salt_of
from hubqueue.ids import uuid7
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, MEDIA, RING, about, expected, read, write

BOTH = pytest.mark.parametrize("key", [KEY, None], ids=["encrypted", "plain"])
EVENTS, LEADS = "data/leads.event.jsonl.zst", "data/leads.lead.jsonl.zst"


def refusal(store: Directory, name: str, ring: KeyRing = RING) -> ArchiveError:
    """What reading all of an archive is refused with, once it is sure that only whole members came out."""
    try:
        archive = open_archive(store, name, ring)
    except ArchiveError as refused:
        return refused
    refusals = []
    content = expected()
    for label in archive.manifest.counts:
        try:
            assert list(lines(archive.rows(label))) == content[label]
        except ArchiveError as refused:
            refusals.append(refused)
    for digest in MEDIA:
        try:
            assert b"".join(archive.media(digest)) == content[digest]
        except ArchiveError as refused:
            refusals.append(refused)
    assert refusals, "nothing was refused"
    return refusals[0]


def flip(path: Path, position: int, bit: int = 0) -> None:
    raw = bytearray(path.read_bytes())
    raw[position] ^= 1 << bit
    path.write_bytes(raw)


@BOTH
def test_a_flipped_bit_is_refused_wherever_it_is(store: Directory, key: MasterKey | None) -> None:
    name = str(write(store, key).name)
    for path in sorted(each for each in (store.root / name).rglob("*") if each.is_file()):
        sound = path.read_bytes()
        step = 1 if len(sound) < 200 else 53
        for position in range(0, len(sound), step):
            flip(path, position, position % 8)
            assert str(refusal(store, name)), (path, position)
            path.write_bytes(sound)
    assert read(store, name) == expected()


PLACES = {
    "magic": 0,
    "salt": len(MAGIC),
    "first chunk": len(MAGIC) + SALT,
    "first tag": len(MAGIC) + SALT + CHUNK,
    "second chunk": len(MAGIC) + SALT + CHUNK + TAG,
    "last chunk": -TAG - 1,
    "last tag": -1,
}


@pytest.mark.parametrize("place", PLACES)
def test_a_flipped_bit_does_not_open(place: str) -> None:
    keys = KEY.for_archive(uuid7(), b"salt")
    raw = bytearray(b"".join(sealed([bytes(3 * CHUNK)], keys, LEADS)))
    raw[PLACES[place]] ^= 1
    taken = bytearray()
    with pytest.raises(MemberDamaged):
        for piece in opened([bytes(raw)], keys, LEADS):
            taken += piece
    assert not any(taken)  # what came out before it is authentic


@given(
    content=st.binary(max_size=200),
    size=st.integers(0, 3 * CHUNK),
    cuts=st.lists(st.integers(1, 2 * CHUNK), max_size=5),
)
@settings(max_examples=40)
def test_encryption_and_packing_do_not_mind_how_pieces_are_cut(
    content: bytes, size: int, cuts: list[int]
) -> None:
    keys = KEY.for_archive(uuid7(), b"salt")
    whole = content + bytes(size)
    stored = b"".join(sealed(packed(cut(whole, cuts)), keys, LEADS))
    assert b"".join(unpacked(opened(cut(stored, cuts), keys, LEADS))) == whole
    plain = b"".join(sealed(cut(whole, cuts), keys, LEADS))
    chunks = max(1, -(-len(whole) // CHUNK))
    assert len(plain) == len(MAGIC) + SALT + len(whole) + chunks * TAG
    assert b"".join(opened(cut(plain, cuts), keys, LEADS)) == whole


def cut(whole: bytes, sizes: list[int]) -> Iterator[bytes]:
    for size in sizes:
        yield whole[:size]
        whole = whole[size:]
    yield whole


def test_a_member_opens_nowhere_but_in_its_place() -> None:
    archive = uuid7()
    keys = KEY.for_archive(archive, b"salt")
    stored = list(sealed([bytes(range(256)) * 1024], keys, LEADS))
    header, first, second, *more = stored
    others = {
        "another path": (stored, keys, EVENTS),
        "another archive": (stored, KEY.for_archive(uuid7(), b"salt"), LEADS),
        "another salt": (stored, KEY.for_archive(archive, b"other"), LEADS),
        "another key": (stored, MasterKey.new().for_archive(archive, b"salt"), LEADS),
        "reordered": ([header, second, first, *more], keys, LEADS),
        "a chunk twice": ([header, first, first, *more], keys, LEADS),
        "a chunk gone": ([header, second, *more], keys, LEADS),
        "cut between chunks": (stored[:-1], keys, LEADS),
        "cut to one chunk": ([header, first], keys, LEADS),
        "nothing but its header": ([header], keys, LEADS),
        "half a header": ([header[:20]], keys, LEADS),
        "nothing": ([], keys, LEADS),
        "something appended": ([*stored, b"x"], keys, LEADS),
        "another one appended": ([*stored, *stored], keys, LEADS),
    }
    for told, (pieces, with_keys, path) in others.items():
        with pytest.raises(MemberDamaged):
            list(opened(pieces, with_keys, path))
            pytest.fail(told)


@BOTH
def test_damage_is_told_in_words(store: Directory, key: MasterKey | None) -> None:
    name = str(write(store, key).name)
    whole = store.root / name
    events, leads = (whole / each for each in (EVENTS, LEADS))

    def remove() -> None:
        leads.unlink()

    def truncate() -> None:
        leads.write_bytes(leads.read_bytes()[:-1])

    def exchange() -> None:
        events.rename(whole / "x")
        leads.rename(events)
        (whole / "x").rename(leads)

    def change() -> None:
        flip(leads, 12)

    def edit() -> None:
        manifest = whole / "manifest.json"
        manifest.write_text(manifest.read_text().replace('"leads.lead": 30', '"leads.lead": 31'))

    def lose_manifest() -> None:
        (whole / "manifest.json").unlink()

    def shorten() -> None:
        sums = whole / "checksums.txt"
        sums.write_text(sums.read_text().split("\n", 1)[1])

    told: list[tuple[Callable[[], None], type[ArchiveError], str]] = [
        (remove, MemberMissing, f"{LEADS} is not at the target"),
        (truncate, MemberDamaged, f"{LEADS} has .* bytes at the target, .* were written"),
        (exchange, MemberDamaged, f"{EVENTS} has .* bytes at the target, .* were written"),
        (change, MemberDamaged, f"{LEADS} has other bytes at the target"),
        (edit, (ManifestAltered, ManifestUnreadable), "manifest.json"),  # type: ignore[list-item]
        (lose_manifest, ManifestUnreadable, "has no manifest.json"),
        (shorten, ManifestAltered, "do not name the same members"),
    ]
    for damage, error, words in told:
        kept = store.root.with_name("kept")
        shutil.copytree(whole, kept)
        damage()
        refused = refusal(store, name)
        with pytest.raises(error, match=words):
            raise refused
        findings = verify(store, name, RING).findings
        assert refused.code in {each.code for each in findings}, damage
        shutil.rmtree(whole)
        kept.rename(whole)


def test_verification_finds_all_that_is_wrong_and_where(store: Directory) -> None:
    name = str(write(store).name)
    (store.root / name / EVENTS).unlink()
    flip(store.root / name / LEADS, 60)
    (store.root / name / "note.txt").write_text("somebody's")
    seen: list[Progress] = []
    report = verify(store, name, RING, progress=seen.append)
    assert [(each.code, each.member) for each in report.findings] == [
        ("backups.member_missing", EVENTS),
        ("backups.member_damaged", LEADS),
    ]
    assert not report.sound
    assert report.strays == ("note.txt",)
    assert [each.members for each in seen] == [1, 2, 3, 4, 5]
    assert (seen[-1].bytes, seen[-1].members) == (seen[-1].of_bytes, seen[-1].of_members)


def rewrite(store: Directory, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Edit the manifest, and the checksums so that they fit: what somebody does who means it."""
    manifest, sums = (store.root / name / each for each in ("manifest.json", "checksums.txt"))
    told = json.loads(manifest.read_bytes())
    change(told)
    manifest.write_text(json.dumps(told))
    lines = [f"{each['sha256']}  {each['path']}" for each in told["members"]]
    lines.append(f"{sha256(manifest.read_bytes()).hexdigest()}  manifest.json")
    sums.write_text("\n".join(lines) + "\n")


def drop_a_member(told: dict[str, Any]) -> None:
    told["members"] = [each for each in told["members"] if each["path"] != LEADS]
    del told["counts"]["leads.lead"]


def name_another_schema(told: dict[str, Any]) -> None:
    told["schema"] = {}


def exchange_members(told: dict[str, Any]) -> None:
    one, other = (next(e for e in told["members"] if e["path"] == p) for p in (EVENTS, LEADS))
    one["path"], other["path"] = other["path"], one["path"]
    told["counts"]["leads.lead"], told["counts"]["leads.event"] = 2, 30


@pytest.mark.parametrize("change", [drop_a_member, name_another_schema, exchange_members])
def test_a_manifest_that_was_edited_with_care_is_refused_by_its_seal(
    store: Directory, change: Callable[[dict[str, Any]], None]
) -> None:
    name = str(write(store).name)
    rewrite(store, name, change)
    with pytest.raises(ManifestAltered, match="not the one that was sealed with the archive's key"):
        open_archive(store, name, RING)


def test_an_archive_that_was_put_in_the_place_of_an_encrypted_one_is_refused(
    store: Directory,
) -> None:
    name = str(write(store, None).name)
    assert open_archive(store, name, RING)
    with pytest.raises(NotEncrypted, match="is not encrypted, and here it must be"):
        open_archive(store, name, RING, encrypted=True)
    assert verify(store, name, RING, encrypted=True).findings[0].code == "backups.not_encrypted"


def test_a_manifest_that_contradicts_itself_is_refused(store: Directory) -> None:
    name = str(write(store, None).name)

    def more(told: dict[str, Any]) -> None:
        told["counts"]["leads.lead"] = 31

    rewrite(store, name, more)
    with pytest.raises(ManifestUnreadable, match="totals are not those of the members"):
        open_archive(store, name, RING)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"scope": "a" * 101}, "A scope must be up to 100"),
        ({"started": "0001-01-01T00:00:00+23:59"}, "Its start is none that a name can hold"),
        ({"started": "9999-12-31T23:59:59-23:59"}, "Its start is none that a name can hold"),
        ({"product": {"name": "\x1b]0;gone\x07", "version": "1"}}, "matching regex"),
        ({"schema": {"leads": ["0001\nnothing is wrong"]}}, "matching regex"),
        ({"\x1b[2Jnothing is wrong" + "!" * 500: 1}, "unknown field"),
        ({"media": {"count": 10**30, "bytes": 0}}, "`int` <= 9223372036854775807"),
    ],
)
def test_what_no_archive_says_of_itself_is_refused_in_words_that_a_terminal_can_show(
    store: Directory, changed: dict[str, Any], words: str
) -> None:
    name = str(write(store, None).name)
    rewrite(store, name, lambda told: told.update(changed))
    with pytest.raises(ManifestUnreadable, match=words) as refused:
        open_archive(store, name, RING)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 300
    assert [each.code for each in verify(store, name, RING).findings] == [refused.value.code]


def test_a_record_without_an_end_does_not_fill_the_memory(
    store: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backups.data.lines.LONGEST", 2**20)
    name = str(write(store, None, rows={"leads.lead": [b" " * 2**24, b"\n"]}).name)
    rest = (piece for piece in open_archive(store, name, RING).rows("leads.lead"))
    with pytest.raises(MemberDamaged, match="longer than a row can be"):
        list(lines(rest))
    assert next(rest)  # was not unpacked to its end


def test_a_count_that_was_edited_with_care_is_refused_by_the_rows(store: Directory) -> None:
    name = str(write(store, None).name)

    def more(told: dict[str, Any]) -> None:
        told["counts"]["leads.lead"] = 31
        next(each for each in told["members"] if each["path"] == LEADS)["records"] = 31

    rewrite(store, name, more)
    with pytest.raises(MemberDamaged, match="holds 30 records, 31 were written"):
        open_archive(store, name, RING).rows("leads.lead")


def test_a_path_that_leads_out_of_the_archive_is_refused(store: Directory) -> None:
    name = str(write(store, None).name)

    def climb(told: dict[str, Any]) -> None:
        told["members"][0]["path"] = "data/../../leads.event.jsonl.zst"

    rewrite(store, name, climb)
    with pytest.raises(ManifestUnreadable, match="a path that no member has"):
        open_archive(store, name, RING)


def test_an_archive_under_another_name_is_refused(store: Directory) -> None:
    name = str(write(store).name)
    other = name.replace("installation", "tenant-7")
    (store.root / name).rename(store.root / other)
    with pytest.raises(ManifestAltered, match=f"was written as {name}"):
        open_archive(store, other, RING)


def test_a_wrong_key_is_told_from_a_missing_one_and_from_damage(store: Directory) -> None:
    name = str(write(store).name)
    with pytest.raises(KeyWrong, match="was not written with it"):
        open_archive(store, name, KeyRing((MasterKey(KEY.id, bytes(32)),)))
    with pytest.raises(KeyMissing, match="does not hold: add it there"):
        open_archive(store, name, KeyRing())
    report = verify(store, name, KeyRing())
    assert [each.code for each in report.findings] == ["backups.key_missing"]


def test_a_format_that_is_not_known_is_refused_before_all_else(store: Directory) -> None:
    name = str(write(store).name)
    (store.root / name / "manifest.json").write_text('{"format": 2, "of": ["another", "shape"]}')
    with pytest.raises(FormatUnknown, match="has format 2, this version reads format 1"):
        open_archive(store, name, KeyRing())
    assert [each.code for each in verify(store, name, RING).findings] == ["backups.format_unknown"]


DEEP = b'{"format": 1, "of": ' + b"[" * 200_000
LONG = b'{"format": 1' + b"0" * 5000 + b"}"


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'{"format": "1"}', b"\xff\xfe", b"null", DEEP, LONG]
)
def test_what_is_no_manifest_is_refused(raw: bytes) -> None:
    with pytest.raises(ManifestUnreadable):
        parsed(raw)


def test_an_archive_of_newer_code_is_refused(store: Directory) -> None:
    here = {"leads": ["0001_initial"]}
    name = str(write(store).name)
    assert open_archive(store, name, RING, schema=here)
    shutil.rmtree(store.root / name)
    name = str(write(store, schema={"leads": ["0001_initial", "0099_more"]}).name)
    with pytest.raises(
        SchemaAhead, match="with leads.0099_more: install the version that wrote it"
    ):
        open_archive(store, name, RING, schema=here)
    with pytest.raises(SchemaAhead, match=r"leads.0001_initial, leads.0099_more: "):
        open_archive(store, name, RING, schema={})
    assert open_archive(store, name, RING)  # to look at it is no harm


def test_history_is_not_taken_for_news() -> None:
    here = {"leads": ["0001_squashed", "0002_more"]}
    squashed = {"leads": ["0001_initial", "0002_gone", "0001_squashed", "0002_more"]}
    refuse_ahead(squashed, here, apps=["leads"])
    refuse_ahead({"removed": ["0001_initial"]}, here, apps=["leads"])
    with pytest.raises(SchemaAhead, match=r"removed.0001_initial"):
        refuse_ahead({"removed": ["0001_initial"]}, here, apps=["removed"])
    with pytest.raises(SchemaAhead, match=r"leads.4, leads.5, leads.6 and 1 more"):
        refuse_ahead({"leads": ["0002_more", "4", "5", "6", "7"]}, here, apps=[])


def test_what_this_code_writes_is_not_ahead_of_it() -> None:
    here = known()
    assert "0001_jobs" in here["hubqueue"]
    refuse_ahead(here, here, apps=here)


ARCHIVES: dict[bool, tuple[Path, str]] = {}


@pytest.fixture(scope="module", autouse=True)
def sound_archives() -> Iterator[None]:
    with ExitStack() as stack:
        for encrypted in (True, False):
            root = Path(stack.enter_context(TemporaryDirectory()))
            with Directory(root) as store:
                name = str(write(store, KEY if encrypted else None).name)
            ARCHIVES[encrypted] = root, name
        yield


@given(encrypted=st.booleans(), draw=st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_random_damage_is_never_handed_out(encrypted: bool, draw: st.DataObject) -> None:
    sound, name = ARCHIVES[encrypted]
    with TemporaryDirectory() as place:
        root = Path(place) / "target"
        shutil.copytree(sound, root)
        files = sorted(each for each in (root / name).rglob("*") if each.is_file())
        before = {each: each.read_bytes() for each in files}
        for _ in range(draw.draw(st.integers(1, 3))):
            damage(draw, files)
        after = {each: each.read_bytes() for each in files if each.exists()}
        with Directory(root) as store:
            if before == after:  # exchanged twice
                assert read(store, name) == expected()
                return
            assert str(refusal(store, name))
            assert not verify(store, name, RING).sound


def damage(draw: st.DataObject, files: list[Path]) -> None:
    there = [each for each in files if each.exists()]
    path = draw.draw(st.sampled_from(there))
    raw = path.read_bytes()
    kinds = ["append", "delete", "exchange", "zeros", "insert"] + ["flip", "cut"] * bool(raw)
    match draw.draw(st.sampled_from(kinds)):
        case "append":
            path.write_bytes(raw + draw.draw(st.binary(min_size=1, max_size=40)))
        case "delete" if len(there) > 1:
            path.unlink()
        case "exchange":
            other = draw.draw(st.sampled_from(there))
            path.write_bytes(other.read_bytes())
            other.write_bytes(raw)
        case "flip":
            flip(path, draw.draw(st.integers(0, len(raw) - 1)), draw.draw(st.integers(0, 7)))
        case "cut":
            path.write_bytes(raw[: draw.draw(st.integers(0, len(raw) - 1))])
        case "insert":
            at = draw.draw(st.integers(0, len(raw)))
            path.write_bytes(raw[:at] + draw.draw(st.binary(min_size=1, max_size=20)) + raw[at:])
        case _:
            path.write_bytes(bytes(len(raw) + 1))


def test_the_salt_of_an_archive_is_its_own() -> None:
    one, other = about(), about()
    assert salt_of(one.archive) == salt_of(one.archive) != salt_of(other.archive)
