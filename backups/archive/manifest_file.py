"""``manifest.json`` as bytes: written and sealed, read strictly, and opened with its key."""

from hmac import compare_digest

import msgspec
from msgspec import Struct

from backups.archive.manifest import ALGORITHM, FORMAT, SHOWN, UNSEALED, Manifest
from backups.errors import (
    FormatUnknown,
    KeyWrong,
    ManifestAltered,
    ManifestUnreadable,
    NotEncrypted,
)
from backups.keys import ArchiveKeys, KeyRing


class _Any(Struct):
    format: int


def written(manifest: Manifest, keys: ArchiveKeys | None) -> bytes:
    """The bytes of ``manifest.json``, sealed when there are keys."""
    raw = msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"
    return raw.replace(UNSEALED.encode(), keys.seal(raw).encode(), 1) if keys else raw


def parsed(raw: bytes) -> Manifest:
    """Read ``manifest.json``. Raises ``FormatUnknown`` before all else, or ``ManifestUnreadable``."""
    try:
        found = msgspec.json.decode(raw, type=_Any).format
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ManifestUnreadable("manifest.json does not say which format it has.") from None
    if found != FORMAT:
        raise FormatUnknown(
            f"The archive has format {found}, this version reads format {FORMAT}: use the version that wrote it."
        )
    try:
        manifest = msgspec.json.decode(raw, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise ManifestUnreadable(f"manifest.json cannot be read: {_plain(wrong)}.") from None
    if manifest.encryption and manifest.encryption.algorithm != ALGORITHM:
        raise FormatUnknown("The archive is encrypted in a way that this version does not know.")
    return manifest


def _plain(wrong: Exception) -> str:
    """What is wrong, which may quote what somebody else wrote."""
    said = str(wrong).rstrip(".")[:SHOWN]
    return "".join(each if each.isprintable() else "?" for each in said)


def unlocked(
    manifest: Manifest, raw: bytes, ring: KeyRing, *, encrypted: bool
) -> ArchiveKeys | None:
    """The keys of this archive, when ``raw`` is the manifest that was sealed with them; ``None``: not encrypted.

    ``encrypted``: it must be. Raises ``NotEncrypted``, ``KeyMissing``, ``KeyWrong``, ``ManifestAltered``.
    """
    encryption = manifest.encryption
    if encryption is None:
        if encrypted:
            raise NotEncrypted(
                f"The archive {manifest.name} is not encrypted, and here it must be."
            )
        return None
    master = ring.reading(encryption.key_id)
    keys = master.for_archive(manifest.archive, bytes.fromhex(encryption.salt))
    if not keys.fits(encryption.check):
        raise KeyWrong(
            f"BACKUPS_KEYS holds a key {master.id!r}, but the archive was not written with it:"
            " give the key that it was written with under that id."
        )
    seal = encryption.seal.encode()
    sealed = raw.replace(seal, UNSEALED.encode())
    if raw.count(seal) != 1 or not compare_digest(keys.seal(sealed).encode(), seal):
        raise ManifestAltered(
            "manifest.json is not the one that was sealed with the archive's key."
        )
    return keys
