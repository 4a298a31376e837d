"""What cannot be read here, for its key or its form, is told from damage."""

import pytest

from backups.archive.manifest_file import parsed
from backups.archive.read import open_archive
from backups.archive.verify import verify
from backups.errors import FormatUnknown, KeyMissing, KeyWrong, ManifestUnreadable
from backups.keys import KeyRing, MasterKey
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, RING, write


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
