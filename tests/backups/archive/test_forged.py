"""What somebody made or edited with care, checksums and all, is refused."""

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest

from backups.archive.read import open_archive
from backups.archive.verify import verify
from backups.errors import ManifestAltered, ManifestUnreadable, MemberDamaged, NotEncrypted
from tests.backups.archive.broken import EVENTS, LEADS
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import RING, write


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
