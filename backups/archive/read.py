"""Open an archive with nothing but what is at the target and the master key."""

from collections.abc import Iterator, Mapping

from backups.archive import checksums
from backups.archive.manifest import Manifest, Member
from backups.archive.manifest_file import parsed, unlocked
from backups.archive.measure import Measure
from backups.archive.members import compare_stored, content, examine, stream
from backups.archive.names import (
    CHECKSUMS,
    DUMP,
    MANIFEST,
    ArchiveName,
    files_path,
    gone_path,
    lists_files,
    media_path,
    rows_path,
)
from backups.archive.schema import Schema, refuse_ahead
from backups.errors import (
    ArchiveMissing,
    ArchiveUnfinished,
    ManifestAltered,
    ManifestUnreadable,
    MemberDamaged,
    MemberMissing,
    ObjectMissing,
)
from backups.keys import ArchiveKeys, KeyRing
from backups.targets.store import Store

LARGEST = 1024**3  # bytes of a manifest that are taken into memory


class Archive:
    """An archive that is open for reading. Used by one thread, while its store is open.

    Every member is read to its end and compared before the first piece of it is handed out, and watched again
    while it is handed out; so it is read twice, the first time only once.
    """

    def __init__(
        self, store: Store, name: str, manifest: Manifest, keys: ArchiveKeys | None
    ) -> None:
        self.name, self.manifest = name, manifest
        self._store, self._keys = store, keys
        self._members = {each.path: each for each in manifest.members}
        self._sound: set[str] = set()

    def rows(self, label: str) -> Iterator[bytes]:
        """The rows of the model ``app.model`` as they were written: lines, in pieces that are cut anywhere.

        Raises ``MemberMissing`` for a model that is not in the archive, ``MemberDamaged``, ``TargetError``.
        """
        return self._content(rows_path(label))

    def gone(self, label: str) -> Iterator[bytes] | None:
        """The keys of the rows of this model that are gone since the parent, as ``rows``.

        ``None`` when ``rows`` are all that there are, and not changes. Raises as ``rows`` does.
        """
        path = gone_path(label)
        return self._content(path) if path in self._members else None

    def files(self) -> Iterator[bytes]:
        """The lines of all files that rows name, in pieces. Raises as ``rows`` does."""
        lists = sum(1 for path in self._members if lists_files(path))
        for number in range(1, lists + 1):
            yield from self._content(files_path(number))

    def holds(self, sha256: str) -> bool:
        """Whether the content with this digest is in this archive."""
        return media_path(sha256) in self._members

    def examine_media(self, sha256: str) -> None:
        """Read a content to its end, if that was not done yet, and keep nothing of it. Raises as ``rows`` does."""
        self._content(media_path(sha256))

    def media(self, sha256: str, *, kept_back: bool = False) -> Iterator[bytes]:
        """A content by its digest, in pieces. Raises as ``rows`` does.

        ``kept_back``: the caller gives nothing of it to anybody before the last piece has come, so that it need not be
        read twice: what was not written so raises then.
        """
        return self._content(media_path(sha256), kept_back=kept_back)

    def dump(self) -> Iterator[bytes]:
        """The dump of a whole database as ``pg_dump`` wrote it, in pieces. Raises as ``rows`` does."""
        return self._content(DUMP)

    def _content(self, path: str, *, kept_back: bool = False) -> Iterator[bytes]:
        member = self._members.get(path)
        if member is None:
            raise MemberMissing(f"The archive holds no {path}.")
        if path not in self._sound and not kept_back:
            examine(self._store, self.name, path, self._keys, member=member)
            self._sound.add(path)
        return self._handed_out(member)

    def _handed_out(self, member: Member) -> Iterator[bytes]:
        stored = Measure()
        pieces = stored.through(stream(self._store, self.name, member.path))
        yield from content(pieces, member.path, self._keys)
        compare_stored(stored, member)


def open_archive(
    store: Store, name: str, ring: KeyRing, *, schema: Schema | None = None, encrypted: bool = False
) -> Archive:
    """Open the archive ``name`` (its directory), or refuse before anything of it is handed out.

    ``schema`` (``schema.known()``) refuses what newer code wrote; ``None`` does not look. ``encrypted`` refuses
    an archive that is not, as one put in the place of an encrypted one would be. Raises ``ArchiveError``,
    ``TargetError``.
    """
    manifest, raw = read_manifest(store, name)
    keys = unlocked(manifest, raw, ring, encrypted=encrypted)
    if schema is not None:
        apps = {label.partition(".")[0] for label in manifest.counts}
        refuse_ahead(manifest.schema, schema, apps=apps)
    _refuse_incomplete(manifest, sizes(store, name))
    return Archive(store, name, manifest, keys)


def read_manifest(store: Store, name: str) -> tuple[Manifest, bytes]:
    """The manifest and its bytes, compared with ``checksums.txt`` and the archive's name. Needs no key.

    Raises ``ArchiveMissing``, ``ArchiveUnfinished``, ``FormatUnknown``, ``ManifestUnreadable``,
    ``ManifestAltered``, ``TargetError``.
    """
    if ArchiveName.parse(name) is None:
        raise ArchiveMissing(
            "An archive is named hubqueue-backup-<scope>-<start>-<mode>, got another name."
        )
    sums = _file(store, name, CHECKSUMS)
    if sums is None:
        if next(store.list(f"{name}/"), None) is None:
            raise ArchiveMissing(f"There is no archive {name} at the target.")
        raise ArchiveUnfinished(f"The archive {name} is unfinished: it has no {CHECKSUMS}.")
    raw = _file(store, name, MANIFEST)
    if raw is None:
        raise ManifestUnreadable(f"The archive {name} has no {MANIFEST}.")
    manifest = parsed(raw)
    _compare(manifest, raw, checksums.parsed(sums))
    if str(manifest.name) != name:
        raise ManifestAltered(f"The archive in {name} was written as {manifest.name}.")
    return manifest, raw


def sizes(store: Store, name: str) -> dict[str, int]:
    """The bytes of every object in an archive's directory, by its path below it."""
    start = len(name) + 1
    return {each.name[start:]: each.size for each in store.list(f"{name}/")}


def _file(store: Store, name: str, path: str) -> bytes | None:
    pieces, length = [], 0
    try:
        for piece in store.get(f"{name}/{path}"):
            length += len(piece)
            if length > LARGEST:
                raise ManifestUnreadable(f"{path} has more than {LARGEST} bytes.")
            pieces.append(piece)
    except ObjectMissing:
        return None
    return b"".join(pieces)


def _compare(manifest: Manifest, raw: bytes, sums: dict[str, str]) -> None:
    measure = Measure()
    measure.add(raw)
    if sums.pop(MANIFEST, None) != measure.sha256:
        raise ManifestAltered(f"{MANIFEST} is not the one that {CHECKSUMS} was written for.")
    if sums != {each.path: each.sha256 for each in manifest.members}:
        raise ManifestAltered(f"{CHECKSUMS} and {MANIFEST} do not name the same members.")


def _refuse_incomplete(manifest: Manifest, there: Mapping[str, int]) -> None:
    for member in manifest.members:
        if member.path not in there:
            raise MemberMissing(f"{member.path} is not at the target.")
        if there[member.path] != member.bytes:
            raise MemberDamaged(
                f"{member.path} has {there[member.path]} bytes at the target, {member.bytes} were written."
            )
