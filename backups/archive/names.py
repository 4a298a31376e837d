"""What an archive and its members are called at a target."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self

MANIFEST = "manifest.json"
DUMP = "system/database.dump.zst"  # a whole database, in an archive of the system
OWNER = "owner.txt"  # who makes it; gone when it is complete
CHECKSUMS = "checksums.txt"  # written last: with it, the archive is complete

SCOPE = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_]*\.[A-Za-z][A-Za-z0-9_]*")
SHA256 = re.compile(r"[0-9a-f]{64}")

_STAMP = "%Y%m%dT%H%M%S.%fZ"
_NAME = re.compile(
    rf"hubqueue-backup-(?P<scope>{SCOPE.pattern})-(?P<stamp>\d{{8}}T\d{{6}}\.\d{{6}}Z)-(?P<mode>full|incremental)",
    re.ASCII,
)
_ROWS = re.compile(rf"data/(?P<label>{LABEL.pattern})\.jsonl\.zst")
_GONE = re.compile(rf"data/(?P<label>{LABEL.pattern})\.gone\.jsonl\.zst")
_FILES = re.compile(r"media/files-\d{6}\.jsonl\.zst", re.ASCII)
_MEDIA = re.compile(rf"media/(?P<first>[0-9a-f]{{2}})/(?P<sha256>{SHA256.pattern})")


class Mode(StrEnum):
    """``FULL`` needs no other archive; ``INCREMENTAL`` holds what changed since its parent."""

    FULL = "full"
    INCREMENTAL = "incremental"


@dataclass(frozen=True, slots=True)
class ArchiveName:
    """The name of an archive's directory, in parts. ``started`` is the start of its run, to the microsecond."""

    scope: str
    started: datetime
    mode: Mode

    def __post_init__(self) -> None:
        if not SCOPE.fullmatch(self.scope) or len(self.scope) > 100:
            raise ValueError(
                "A scope must be up to 100 lower case letters and digits, in words joined by '.', '_' or '-',"
                f" got {self.scope!r}."
            )
        if self.started.utcoffset() is None:
            raise ValueError("The start of a run must carry its UTC offset, got a naive time.")

    def __str__(self) -> str:
        stamp = self.started.astimezone(UTC).strftime(_STAMP)
        return f"hubqueue-backup-{self.scope}-{stamp}-{self.mode}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The parts of a directory's name; ``None`` when it is none of ours."""
        found = _NAME.fullmatch(text)
        if found is None or len(found["scope"]) > 100:
            return None
        try:
            started = datetime.strptime(found["stamp"], _STAMP).replace(tzinfo=UTC)
        except ValueError:  # a thirteenth month
            return None
        return cls(found["scope"], started, Mode(found["mode"]))


def rows_path(label: str) -> str:
    """Where the rows of the model ``app.model`` are, below the archive. Raises ``ValueError``."""
    if not LABEL.fullmatch(label):
        raise ValueError(
            f"A model must be named app.model, in letters, digits and '_', got {label!r}."
        )
    return f"data/{label}.jsonl.zst"


def gone_path(label: str) -> str:
    """Where the keys of the rows that are gone are, below an incremental archive. Raises ``ValueError``."""
    return rows_path(label).removesuffix(".jsonl.zst") + ".gone.jsonl.zst"


def media_path(sha256: str) -> str:
    """Where the content with this digest (64 hexadecimal digits) is. Raises ``ValueError``."""
    if not SHA256.fullmatch(sha256):
        raise ValueError(
            "A digest must be 64 hexadecimal digits in lower case, got something else."
        )
    return f"media/{sha256[:2]}/{sha256}"


def files_path(number: int) -> str:
    """Where a list of the files that rows name is; lists are numbered from 1."""
    return f"media/files-{number:06}.jsonl.zst"


def label_of(path: str) -> str | None:
    """The model whose rows are at this path; ``None`` when it is another kind of member."""
    found = _ROWS.fullmatch(path)
    return found["label"] if found else None


def gone_label_of(path: str) -> str | None:
    """The model whose deletions are at this path; ``None`` when it is another kind of member."""
    found = _GONE.fullmatch(path)
    return found["label"] if found else None


def lists_files(path: str) -> bool:
    """Whether the member is a list of the files that rows name."""
    return _FILES.fullmatch(path) is not None


def holds_lines(path: str) -> bool:
    """Whether the member is packed lines: rows, deletions, or files."""
    return label_of(path) is not None or gone_label_of(path) is not None or lists_files(path)


def is_packed(path: str) -> bool:
    """Whether what is at this path is compressed with Zstandard: lines and the dump of a database."""
    return path == DUMP or holds_lines(path)


def digest_of(path: str) -> str | None:
    """The digest of the content at this path; ``None`` when it is another kind of member."""
    found = _MEDIA.fullmatch(path)
    return found["sha256"] if found and found["sha256"].startswith(found["first"]) else None
