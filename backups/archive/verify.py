"""Whether an archive is sound: every byte of it is read at the target."""

from collections.abc import Callable
from dataclasses import dataclass

from backups.archive.manifest import Manifest
from backups.archive.manifest_file import unlocked
from backups.archive.members import examine
from backups.archive.names import CHECKSUMS, MANIFEST, digest_of
from backups.archive.read import read_manifest, sizes
from backups.errors import ArchiveError, MemberDamaged
from backups.keys import ArchiveKeys, KeyRing
from backups.targets.store import Store


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong. ``code`` is stable (that of the error), ``member`` is empty when it is the archive."""

    code: str
    member: str
    text: str


@dataclass(frozen=True, slots=True)
class Progress:
    """Members that were read so far, of all; and their stored bytes, of all."""

    members: int
    of_members: int
    bytes: int
    of_bytes: int


@dataclass(frozen=True, slots=True)
class Report:
    """What a verification found. ``strays`` are objects in the directory that no manifest names: no harm."""

    name: str
    findings: tuple[Finding, ...]
    manifest: Manifest | None = None
    strays: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        return not self.findings


def verify(
    store: Store,
    name: str,
    ring: KeyRing,
    *,
    encrypted: bool = False,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Report:
    """Read the whole archive ``name`` and say what is wrong with it, all of it.

    An archive that cannot be opened with ``ring`` is not sound; neither is one that is not encrypted where
    ``encrypted`` says it must be. Raises ``TargetError`` when the target does not answer: that says nothing of
    the archive. ``progress`` is called after each member.
    """
    try:
        manifest, raw = read_manifest(store, name)
        keys = unlocked(manifest, raw, ring, encrypted=encrypted)
    except ArchiveError as wrong:
        return Report(name, (Finding(wrong.code, "", str(wrong)),))
    findings = _examined(store, name, manifest, keys, progress)
    strays = sizes(store, name).keys() - {each.path for each in manifest.members}
    return Report(name, tuple(findings), manifest, tuple(sorted(strays - {MANIFEST, CHECKSUMS})))


def refuse_unsound(
    store: Store, name: str, ring: KeyRing, *, progress: Callable[[Progress], None]
) -> None:
    """``verify`` an archive that is to be restored. Raises ``ArchiveError`` with the first finding, ``TargetError``."""
    report = verify(store, name, ring, progress=progress)
    if not report.sound:
        first = report.findings[0]
        raise ArchiveError(
            f"The archive {name} is not sound, {len(report.findings)} findings;"
            f" the first: {first.code}: {first.text}"
        )


def _examined(
    store: Store,
    name: str,
    manifest: Manifest,
    keys: ArchiveKeys | None,
    progress: Callable[[Progress], None],
) -> list[Finding]:
    found, media, done = [], 0, 0
    of_bytes = sum(each.bytes for each in manifest.members)
    for number, member in enumerate(manifest.members, start=1):
        try:
            examined = examine(store, name, member.path, keys, member=member)
            media += examined.content_bytes if digest_of(member.path) else 0
        except ArchiveError as wrong:
            found.append(Finding(wrong.code, member.path, str(wrong)))
        done += member.bytes
        progress(Progress(number, len(manifest.members), done, of_bytes))
    if not found and media != manifest.media.bytes:
        text = f"The media have {media} bytes, {manifest.media.bytes} were written."
        found.append(Finding(MemberDamaged.code, "", text))
    return found
