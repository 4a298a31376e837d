"""Master keys, and the keys of one archive that are derived from one of them.

An archive opens with nothing but its own bytes and the master key: what else goes into its keys stands in
its manifest.
"""

import re
from base64 import b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest, digest
from secrets import token_bytes, token_hex
from typing import Self
from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand

from backups.errors import KeyMissing, KeysUnusable

BYTES = 32
_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class MasterKey:
    """A secret of 32 bytes and the id that manifests name it by. Never shown, but by ``text``."""

    id: str
    secret: bytes = field(repr=False)

    @classmethod
    def new(cls) -> Self:
        """A fresh key; its id is the day and some random digits."""
        return cls(f"{datetime.now(UTC):%Y%m%d}-{token_hex(3)}", token_bytes(BYTES))

    @property
    def text(self) -> str:
        """The form that BACKUPS_KEYS takes: ``id:secret``, the secret in base64 for URLs."""
        return f"{self.id}:{urlsafe_b64encode(self.secret).decode()}"

    def for_archive(self, archive: UUID, salt: bytes) -> "ArchiveKeys":
        """What the archive of this id and salt is read and written with."""
        hkdf = HKDF(SHA256(), BYTES, salt=salt, info=b"hubqueue-backup archive\n" + archive.bytes)
        return ArchiveKeys(archive, hkdf.derive(self.secret))


@dataclass(frozen=True, slots=True)
class KeyRing:
    """Every master key of this installation. The first one writes; every one reads."""

    keys: tuple[MasterKey, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``id:secret`` pairs, separated by commas or blanks. Raises ``KeysUnusable``, quoting no secret."""
        keys = tuple(map(_key, re.split(r"[\s,]+", text.strip(" \t\r\n,")))) if text.strip() else ()
        ids = [each.id for each in keys]
        if doubled := sorted({each for each in ids if ids.count(each) > 1}):
            raise KeysUnusable(
                f"BACKUPS_KEYS must hold one key for an id, got several for {doubled}."
            )
        return cls(keys)

    @property
    def writing(self) -> MasterKey:
        """The key of new archives. Raises ``KeysUnusable`` when there is none."""
        if not self.keys:
            raise KeysUnusable(
                "BACKUPS_KEYS must hold a key to encrypt with, got none: make one with manage.py backups keygen."
            )
        return self.keys[0]

    def reading(self, key_id: str) -> MasterKey:
        """The key with this id. Raises ``KeyMissing``."""
        for key in self.keys:
            if key.id == key_id:
                return key
        raise KeyMissing(
            f"The archive was written with the key {key_id!r}, which BACKUPS_KEYS does not hold: add it there."
        )


@dataclass(frozen=True, slots=True)
class ArchiveKeys:
    """The keys of one archive."""

    archive: UUID
    secret: bytes = field(repr=False)

    def member(self, salt: bytes) -> bytes:
        """The key of one writing of one member, by the salt in that member's header."""
        return self._derived(b"member\n" + salt)

    def bound_to(self, path: str) -> bytes:
        """What a member's chunks are bound to: this archive and the member's path."""
        return self.archive.bytes + path.encode()

    @property
    def check(self) -> str:
        """Digits that tell whether this is the key, without telling anything of the key."""
        return self._derived(b"check").hex()[:32]

    def fits(self, check: str) -> bool:
        return compare_digest(self.check.encode(), check.encode())

    def seal(self, manifest: bytes) -> str:
        """The HMAC-SHA256 of a manifest, in hexadecimal digits."""
        return digest(self._derived(b"manifest"), manifest, "sha256").hex()

    def _derived(self, info: bytes) -> bytes:
        return HKDFExpand(SHA256(), BYTES, info=info).derive(self.secret)


def salt_of(archive: UUID) -> bytes:
    """The salt of a new archive: of its own, and the same for every attempt of its run.

    It need not be secret or random, only unlike that of any other archive; what keeps the keys of two writings
    of one member apart is the random salt in the member's header.
    """
    return sha256(b"hubqueue-backup salt\n" + archive.bytes).digest()


def _key(text: str) -> MasterKey:
    key_id, _, encoded = text.partition(":")
    if not _ID.fullmatch(key_id):
        raise KeysUnusable(
            "BACKUPS_KEYS must be id:secret pairs, each id up to 40 lower case letters, digits and '-',"
            " got a pair with another id."
        )
    try:
        secret = b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
    except (NotBase64, ValueError):
        secret = b""
    if len(secret) != BYTES:
        raise KeysUnusable(
            f"The secret of the key {key_id!r} in BACKUPS_KEYS must be {BYTES} bytes in base64 for URLs,"
            " got something else: make keys with manage.py backups keygen."
        )
    return MasterKey(key_id, secret)
