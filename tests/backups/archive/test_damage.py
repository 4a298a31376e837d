"""Damage of any kind, anywhere, is refused in words before anything of what it hit is handed out."""

import shutil
from collections.abc import Callable

import pytest

from backups.archive.read import open_archive
from backups.archive.verify import Progress, verify
from backups.data.lines import lines
from backups.errors import (
    ArchiveError,
    ManifestAltered,
    ManifestUnreadable,
    MemberDamaged,
    MemberMissing,
)
from backups.keys import MasterKey
from tests.backups.archive.broken import BOTH, EVENTS, LEADS, refusal
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import RING, expected, read, write
from tests.support.damage import flip


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


def test_an_archive_under_another_name_is_refused(store: Directory) -> None:
    name = str(write(store).name)
    other = name.replace("installation", "tenant-7")
    (store.root / name).rename(store.root / other)
    with pytest.raises(ManifestAltered, match=f"was written as {name}"):
        open_archive(store, other, RING)


def test_a_record_without_an_end_does_not_fill_the_memory(
    store: Directory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backups.data.lines.LONGEST", 2**20)
    name = str(write(store, None, rows={"leads.lead": [b" " * 2**24, b"\n"]}).name)
    rest = (piece for piece in open_archive(store, name, RING).rows("leads.lead"))
    with pytest.raises(MemberDamaged, match="longer than a row can be"):
        list(lines(rest))
    assert next(rest)  # was not unpacked to its end
