"""What is at a target is told from the target alone."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backups.archive.checksums import checksums, parsed
from backups.archive.listing import State, archives
from backups.archive.names import ArchiveName, Mode, digest_of, label_of, media_path, rows_path
from backups.archive.write import ArchiveWriter
from backups.errors import ManifestUnreadable
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, about, fill, write


def test_complete_unfinished_and_foreign_are_told_apart(store: Directory) -> None:
    whole = str(write(store).name)
    begun = about(scope="tenant-7")
    fill(ArchiveWriter(store, begun, KEY))
    others = [
        "hubqueue-backup-installation-yesterday-full/checksums.txt",
        f"{whole}-copy/checksums.txt",
        "lost+found/x".replace("+", "_"),
        "readme.txt",
        whole.replace("123456", "123457"),  # a lone object, not a directory
    ]
    for each in others:
        store.put(each, [b"x"])
    expiring = about(scope="tenant-8")
    fill(writer := ArchiveWriter(store, expiring, KEY))
    writer.finish()
    store.delete(f"{expiring.name}/checksums.txt")  # the first step of an expiry

    found = {each.name: each for each in archives(store)}
    assert {name: each.state for name, each in found.items()} == {
        whole: State.COMPLETE,
        str(begun.name): State.UNFINISHED,
        str(expiring.name): State.UNFINISHED,
        **{each.split("/")[0]: State.FOREIGN for each in others},
    }
    there = list(store.list(f"{whole}/"))
    assert found[whole].objects == len(there) == 7
    assert found[whole].bytes == sum(each.size for each in there)
    archive = found[whole].archive
    assert archive
    assert (archive.scope, archive.mode, archive.started) == (
        "installation",
        Mode.FULL,
        about().started,
    )


def test_an_empty_target_has_no_archives(store: Directory) -> None:
    assert list(archives(store)) == []


@settings(max_examples=50)
@given(
    scope=st.from_regex(r"[a-z0-9]{1,9}([._-][a-z0-9]{1,9}){0,3}", fullmatch=True),
    started=st.datetimes(datetime(1901, 1, 1), datetime(9998, 1, 1)),  # noqa: DTZ001 - made aware below
    hours=st.integers(-12, 12),
    mode=st.sampled_from(Mode),
)
def test_a_name_is_parsed_back(scope: str, started: datetime, hours: int, mode: Mode) -> None:
    zone = timezone(timedelta(hours=hours))
    name = ArchiveName(scope, started.replace(tzinfo=UTC).astimezone(zone), mode)
    assert ArchiveName.parse(str(name)) == name
    assert str(ArchiveName.parse(str(name))) == str(name)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hubqueue-backup-installation-20261330T033147.123456Z-full",
        "hubqueue-backup-installation-20261130T033147Z-full",
        "hubqueue-backup-installation-20261130T033147.123456Z-partial",
        "hubqueue-backup-installation-20261130T033147.123456Z-full.part",
        "hubqueue-backup--20261130T033147.123456Z-full",
        "hubqueue-backup-Über-20261130T033147.123456Z-full",
        f"hubqueue-backup-{'x' * 101}-20261130T033147.123456Z-full",
        "hubqueue-backup-installation-20261130T033147.123456Z-full\n",
    ],
)
def test_other_names_are_not_ours(text: str) -> None:
    assert ArchiveName.parse(text) is None


def test_names_that_could_mislead_are_not_made() -> None:
    started = about().started
    for scope in ("", "../x", "A", "a--b", "x" * 101, "a/b"):
        with pytest.raises(ValueError, match="A scope must be"):
            ArchiveName(scope, started, Mode.FULL)
    with pytest.raises(ValueError, match="UTC offset"):
        ArchiveName("installation", started.replace(tzinfo=None), Mode.FULL)


def test_paths_tell_what_is_at_them() -> None:
    digest = "ab" * 32
    assert label_of(rows_path("leads.lead")) == "leads.lead"
    assert digest_of(media_path(digest)) == digest
    assert digest_of(f"media/cd/{digest}") is None
    assert label_of(media_path(digest)) is digest_of(rows_path("leads.lead")) is None


@pytest.mark.parametrize(
    "raw",
    [
        b"x",
        b"\xff\n",
        b"\n",
        checksums([("a", "0" * 64), ("a", "1" * 64)]),
        checksums([("a", "0" * 63)]),
        checksums([("a", "0" * 64)])[:-1],
        b"\\" + checksums([("a", "0" * 64)]),
    ],
)
def test_checksums_that_are_not_plain_are_refused(raw: bytes) -> None:
    with pytest.raises(ManifestUnreadable, match="checksums.txt"):
        parsed(raw)
