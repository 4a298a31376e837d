"""Archives for tests: what they hold, how they are written, how all of one is read."""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from backups.archive.manifest import About, Manifest, Parent, Period, Product, Snapshot
from backups.archive.names import Mode
from backups.archive.read import open_archive
from backups.archive.write import ArchiveWriter
from backups.data.lines import lines
from backups.keys import KeyRing, MasterKey
from backups.targets.store import Store
from hubqueue.ids import uuid7

STARTED = datetime(2026, 11, 30, 3, 31, 47, 123456, tzinfo=UTC)
KEY = MasterKey("first", bytes(range(32)))
RING = KeyRing((KEY,))
ROWS = {
    "leads.event": [b'{"id": 1, "name": "Night Trains"}\n', b'{"id": 2}\n'],
    "leads.lead": [b'{"id": %d}\n' % number for number in range(30)],
    "leads.answer": [],
}
MEDIA = {sha256(each).hexdigest(): each for each in (b"a picture", b"")}


def about(**changes: Any) -> About:
    """What a run knows before its first row."""
    told: dict[str, Any] = {
        "archive": uuid7(),
        "product": Product(name="hubqueue", version="0.1.0"),
        "schema": {"leads": ["0001_initial"]},
        "scope": "installation",
        "mode": Mode.FULL,
        "started": STARTED,
        "snapshot": Snapshot(at=STARTED, transactions="10:20:10,14"),
        "period": Period(since=None, until=STARTED),
    }
    return About(**told | changes)


def incremental(parent: Manifest, **changes: Any) -> About:
    """The same for what goes on from ``parent``."""
    return about(
        mode=Mode.INCREMENTAL,
        parent=Parent(archive=parent.archive, name=str(parent.name)),
        period=Period(since=parent.snapshot.at, until=STARTED),
        **changes,
    )


def write(
    store: Store,
    key: MasterKey | None = KEY,
    *,
    rows: dict[str, list[bytes]] = ROWS,
    media: dict[str, bytes] = MEDIA,
    **changes: Any,
) -> Manifest:
    """A whole archive."""
    writer = ArchiveWriter(store, about(**changes), key)
    fill(writer, rows, media)
    return writer.finish()


def fill(
    writer: ArchiveWriter,
    rows: dict[str, list[bytes]] = ROWS,
    media: dict[str, bytes] = MEDIA,
) -> None:
    for label, written in rows.items():
        writer.add_rows(label, written)
    for digest, content in media.items():
        writer.add_media(digest, partial(pieces, content))


def pieces(content: bytes) -> Iterable[bytes]:
    yield content


def read(store: Store, name: str, ring: KeyRing = RING) -> dict[str, Any]:
    """Everything that is in an archive."""
    archive = open_archive(store, name, ring)
    found: dict[str, Any] = {
        label: list(lines(archive.rows(label))) for label in archive.manifest.counts
    }
    for member in archive.manifest.members:
        if member.records is None:
            digest = Path(member.path).name
            found[digest] = b"".join(archive.media(digest))
    return found


def expected(
    rows: dict[str, list[bytes]] = ROWS, media: dict[str, bytes] = MEDIA
) -> dict[str, Any]:
    """What ``read`` finds in an archive of these."""
    told: dict[str, Any] = {
        label: [each[:-1] for each in written] for label, written in rows.items()
    }
    return told | media
