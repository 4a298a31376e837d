"""``manifest.json``: what an archive is and what must be in it. It names no content of anybody."""

from collections import Counter
from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from backups.archive.names import (
    DUMP,
    ArchiveName,
    Mode,
    digest_of,
    files_path,
    gone_label_of,
    holds_lines,
    label_of,
    lists_files,
)

FORMAT = 1
ALGORITHM = "AES-256-GCM-STREAM-64K"
UNSEALED = "0" * 64  # what stands in the seal's place while the seal is made
SHOWN = 200

MOST = 2**63 - 1
PLAIN = r"\A[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*\Z"  # nothing that a terminal obeys

Count = Annotated[int, Meta(ge=0, le=MOST)]
Plain = Annotated[str, Meta(pattern=PLAIN)]
Word = Annotated[str, Meta(pattern=PLAIN, max_length=SHOWN)]
Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Aware = Annotated[datetime, Meta(tz=True)]


class Part(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the parts of a manifest share: they do not change, and a field that is not known is refused."""


class Product(Part, frozen=True, kw_only=True):
    """Who wrote the archive."""

    name: Word
    version: Word


class Snapshot(Part, frozen=True, kw_only=True):
    """The one moment that every row is of: the database's time, and ``pg_current_snapshot()`` as text.

    ``lineage`` says whose transactions these are; empty when it is not known.
    """

    at: Aware
    transactions: Plain
    lineage: Word = ""


class Period(Part, frozen=True, kw_only=True):
    """The changes that are in the archive: after ``since`` (``None``: from the beginning) up to ``until``."""

    since: Aware | None
    until: Aware


class Parent(Part, frozen=True, kw_only=True):
    """The archive that an incremental one goes on from."""

    archive: UUID
    name: Word


class Encryption(Part, frozen=True, kw_only=True):
    """How the members are encrypted. ``salt``, ``check`` and ``seal`` are hexadecimal digits.

    ``check`` tells a wrong key from an altered archive. ``seal`` is the HMAC of this file with 64 zeros in the
    seal's place.
    """

    algorithm: Word
    key_id: Word
    salt: Digest
    check: Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
    seal: Digest = UNSEALED


class Media(Part, frozen=True, kw_only=True):
    """How many contents are in the archive, and their bytes before encryption.

    ``missing``: how many files rows name whose content was not there to be taken.
    """

    count: Count
    bytes: Count
    missing: Count = 0


class Member(Part, frozen=True, kw_only=True):
    """A member as it is stored. ``records`` are the lines in it, and ``None`` for what has none."""

    path: str
    bytes: Count
    sha256: Digest
    records: Count | None


class About(Part, frozen=True, kw_only=True):
    """What is known of an archive before its first row.

    ``schema`` holds the migrations of each app, in the order in which they were applied. ``options`` is a digest of
    what is written of each model and how; empty when it is not known. An archive goes on from one of equal options.
    """

    format: int = FORMAT
    archive: UUID
    product: Product
    schema: dict[Word, list[Plain]]
    scope: str
    mode: Mode
    started: Aware
    snapshot: Snapshot
    period: Period
    parent: Parent | None = None
    options: Word = ""

    def __post_init__(self) -> None:
        try:
            str(self.name)
        except OverflowError:
            raise ValueError("Its start is none that a name can hold.") from None
        if (self.mode is Mode.INCREMENTAL) != (self.parent is not None):
            raise ValueError("An incremental archive, and no other, has a parent.")
        if (self.period.since is None) != (self.parent is None):
            raise ValueError(
                "The period of an incremental archive, and of no other, has a beginning."
            )

    @property
    def name(self) -> ArchiveName:
        """What the archive's directory is called."""
        return ArchiveName(self.scope, self.started, self.mode)


class Manifest(About, frozen=True, kw_only=True):
    """The whole of it. ``counts`` are the records of each model."""

    encryption: Encryption | None
    counts: dict[str, Count]
    media: Media
    members: tuple[Member, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        paths = Counter(each.path for each in self.members)
        if len(paths) != len(self.members):
            raise ValueError("A member is named twice.")
        rows = {label: each.records for each in self.members if (label := label_of(each.path))}
        media = sum(1 for path in paths if digest_of(path))
        gone = {label for path in paths if (label := gone_label_of(path))}
        files = [path for path in paths if lists_files(path)]
        if any(files_path(number) not in paths for number in range(1, len(files) + 1)):
            raise ValueError("A list of files is missing.")
        if gone and (self.mode is not Mode.INCREMENTAL or not gone <= rows.keys()):
            raise ValueError(
                "Deletions are in an incremental archive, beside the rows of their model."
            )
        if len(rows) + len(gone) + len(files) + media + (DUMP in paths) != len(self.members):
            raise ValueError("A member has a path that no member has.")
        if any((each.records is None) == holds_lines(each.path) for each in self.members):
            raise ValueError("Lines, and nothing else, are counted.")
        if rows != self.counts or media != self.media.count:
            raise ValueError("The totals are not those of the members.")

    @property
    def contents(self) -> frozenset[str]:
        """The digests of the contents in it."""
        return frozenset(filter(None, (digest_of(each.path) for each in self.members)))

    @property
    def files(self) -> int:
        """How many names of files are in its lists."""
        return sum(each.records or 0 for each in self.members if lists_files(each.path))

    def member(self, path: str) -> Member:
        """The member at this path. Raises ``KeyError``."""
        for each in self.members:
            if each.path == path:
                return each
        raise KeyError(path)
