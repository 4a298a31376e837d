"""Archives that were damaged, for tests."""

import pytest

from backups.archive.read import open_archive
from backups.data.lines import lines
from backups.errors import ArchiveError
from backups.keys import KeyRing
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, MEDIA, RING, expected

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
