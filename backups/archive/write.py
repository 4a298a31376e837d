"""Write an archive to a target, member by member, with nothing kept in between."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from backups.archive.checksums import checksums
from backups.archive.manifest import (
    ALGORITHM,
    About,
    Encryption,
    Manifest,
    Media,
    Member,
)
from backups.archive.manifest_file import written
from backups.archive.measure import Measure
from backups.archive.members import examine
from backups.archive.names import (
    CHECKSUMS,
    DUMP,
    MANIFEST,
    digest_of,
    files_path,
    gone_path,
    label_of,
    media_path,
    rows_path,
)
from backups.archive.packing import LEVEL, packed
from backups.archive.sealed import sealed
from backups.errors import (
    ArchiveExists,
    ContentDiffers,
    MemberDamaged,
    MemberMissing,
    ObjectKept,
    ObjectMissing,
    SizeDiffers,
    TargetError,
)
from backups.keys import ArchiveKeys, MasterKey, salt_of
from backups.targets.store import Store

Content = Callable[[], Iterable[bytes]]


class ArchiveWriter:
    """One archive on its way to a target. Used by one thread.

    It is an archive when ``finish`` returns, and not before. Another writer for the same archive (a new attempt
    of its run) keeps the media that are whole, and writes every row again. Memory is constant but for the list
    of members, about half a kilobyte each.
    """

    def __init__(
        self, store: Store, about: About, key: MasterKey | None, *, level: int = LEVEL
    ) -> None:
        """``key`` encrypts; ``None`` does not. ``level`` is Zstandard's. Raises ``ArchiveExists``."""
        self.about, self.name = about, str(about.name)
        self._store, self._level = store, level
        self._salt, self._key = salt_of(about.archive), key
        self._keys = key.for_archive(about.archive, self._salt) if key else None
        self._members: dict[str, Member] = {}
        self._media_bytes = self._lists = self._missing = 0
        start = len(self.name) + 1
        self._there = {each.name[start:] for each in store.list(f"{self.name}/")}
        if CHECKSUMS in self._there:
            raise ArchiveExists(f"The archive {self.name} is complete: it is not written again.")

    def add_rows(self, label: str, lines: Iterable[bytes]) -> Member:
        """Store the rows of the model ``app.model``: JSON Lines, in pieces of any size, each record one line.

        Raises ``ContentDiffers`` for a last line without its end, ``ValueError`` for a model that was there
        already, ``TargetError``; whatever ``lines`` raises comes through. Nothing is stored then.
        """
        return self._add_lines(rows_path(label), lines)

    def add_gone(self, label: str, lines: Iterable[bytes]) -> Member:
        """Store the keys of the rows of the model that are gone since the parent; its rows are then changes only.

        In an incremental archive, beside ``add_rows`` of the same model. Raises as that does.
        """
        return self._add_lines(gone_path(label), lines)

    def add_media(self, sha256: str, content: Content) -> Member:
        """Store a content under its digest, once; ``content`` is called only when it is not there and whole.

        Raises ``ContentDiffers`` when the content has another digest, ``TargetError``; whatever ``content``
        raises comes through. Nothing is stored then.
        """
        path = media_path(sha256)
        if path in self._members:
            return self._members[path]
        return self._kept(path) or self._sent(path, sha256, content)

    def add_files(self, lines: Iterable[bytes], *, missing: int = 0) -> Member:
        """Store the next list of files that rows name; ``missing`` of them have no content. Raises as ``add_rows``."""
        member = self._add_lines(files_path(self._lists + 1), lines)
        self._lists, self._missing = self._lists + 1, self._missing + missing
        return member

    def add_dump(self, pieces: Iterable[bytes]) -> Member:
        """Store the dump of a whole database. Raises ``TargetError``; whatever ``pieces`` raises comes through.

        Nothing is stored then.
        """
        packing = packed(pieces, level=self._level)
        return self._keep(DUMP, self._put(DUMP, self._encrypted(packing, DUMP)), None)

    def finish(self) -> Manifest:
        """Write the manifest, delete what else was there before, and complete the archive by its checksums."""
        manifest = self._manifest()
        stored = self._put(MANIFEST, [written(manifest, self._keys)])
        for left in sorted(self._there - self._members.keys() - {MANIFEST}):
            with suppress(ObjectKept):  # an object that no manifest names is no harm
                self._store.delete(f"{self.name}/{left}")
        digests = [(each.path, each.sha256) for each in self._members.values()]
        self._put(CHECKSUMS, [checksums([*digests, (MANIFEST, stored.sha256)])])
        return manifest

    def _add_lines(self, path: str, lines: Iterable[bytes]) -> Member:
        plain = Measure()
        if path in self._members:
            raise ValueError(f"{path} is in the archive already.")
        stored = self._put(
            path, self._encrypted(packed(_lines(lines, plain), level=self._level), path)
        )
        return self._keep(path, stored, plain.lines)

    def _kept(self, path: str) -> Member | None:
        """The member that an earlier attempt stored, read back; ``None`` when it is not there, or not sound."""
        if path not in self._there:
            return None
        try:
            found = examine(self._store, self.name, path, self._keys)
        except (MemberDamaged, MemberMissing):
            return None
        self._media_bytes += found.content_bytes
        return self._keep(path, found.stored, None)

    def _sent(self, path: str, sha256: str, content: Content) -> Member:
        plain = Measure()
        stored = self._put(path, self._encrypted(_as_said(content(), plain, sha256), path))
        self._media_bytes += plain.bytes
        return self._keep(path, stored, None)

    def _encrypted(self, pieces: Iterable[bytes], path: str) -> Iterable[bytes]:
        return sealed(pieces, self._keys, path) if self._keys else pieces

    def _put(self, path: str, pieces: Iterable[bytes]) -> Measure:
        name, sent = f"{self.name}/{path}", Measure()
        try:
            reported = self._store.put(name, sent.through(pieces))
        except ObjectMissing:
            raise SizeDiffers(f"The target took {path} and has nothing of it.") from None
        if reported != sent.bytes:
            self._forget(name)
            raise SizeDiffers(
                f"The target reports {reported} bytes for {path}, of {sent.bytes} that were sent."
            )
        return sent

    def _forget(self, name: str) -> None:
        try:
            self._store.delete(name)
        except TargetError:
            pass  # what is wrong with this object is raised anyway

    def _keep(self, path: str, stored: Measure, records: int | None) -> Member:
        member = Member(path=path, bytes=stored.bytes, sha256=stored.sha256, records=records)
        self._members[path] = member
        return member

    def _manifest(self) -> Manifest:
        members = tuple(self._members.values())
        rows = [each for each in members if each.records is not None]
        media = sum(1 for each in members if digest_of(each.path))
        about = {name: getattr(self.about, name) for name in About.__struct_fields__}
        return Manifest(
            **about,
            encryption=_encryption(self._keys, self._key, self._salt),
            counts={label: each.records or 0 for each in rows if (label := label_of(each.path))},
            media=Media(count=media, bytes=self._media_bytes, missing=self._missing),
            members=members,
        )


def _encryption(keys: ArchiveKeys | None, key: MasterKey | None, salt: bytes) -> Encryption | None:
    if keys is None or key is None:
        return None
    return Encryption(algorithm=ALGORITHM, key_id=key.id, salt=salt.hex(), check=keys.check)


def _lines(pieces: Iterable[bytes], plain: Measure) -> Iterator[bytes]:
    for piece in pieces:
        plain.add_lines(piece)
        yield piece
    if not plain.ends_a_line:
        raise ContentDiffers("The last record has no end: each must be one line.")


def _as_said(pieces: Iterable[bytes], plain: Measure, sha256: str) -> Iterator[bytes]:
    yield from plain.through(pieces)
    if plain.sha256 != sha256:
        raise ContentDiffers("A content has another digest than the one it was named by.")
