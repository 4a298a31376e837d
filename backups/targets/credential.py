"""Credentials of targets, sealed for one row: what is copied to another row does not open there.

An envelope is one byte for its form, a nonce of 12 bytes, and AES-256-GCM with the row's id and kind as
associated data. Keys come from ``SECRET_KEY`` and then ``SECRET_KEY_FALLBACKS``.
"""

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.views.decorators.debug import sensitive_variables

from backups.errors import CredentialSealed
from backups.models import BackupTarget

FORM = b"\x01"
NONCE = 12


@sensitive_variables()
def keep_credential(target: BackupTarget, secret: str) -> None:
    """Seal the secret into the target's row, instead of the one there; empty = it has none."""
    sealed = None
    if secret:
        nonce = os.urandom(NONCE)
        key = _derived(settings.SECRET_KEY)
        sealed = FORM + nonce + AESGCM(key).encrypt(nonce, secret.encode(), _bound(target))
    BackupTarget.objects.filter(pk=target.pk).update(credential=sealed)


@sensitive_variables()
def read_credential(target: BackupTarget) -> str:
    """The secret of a target, empty if it has none. The only query that reads the column.

    Raises ``CredentialSealed`` when it was not sealed for this row and kind with a key that we have.
    """
    kept = BackupTarget.objects.values_list("credential", flat=True).get(pk=target.pk)
    if kept is None:
        return ""
    sealed = bytes(kept)
    nonce, rest = sealed[1 : 1 + NONCE], sealed[1 + NONCE :]
    for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        try:
            if sealed[:1] == FORM:
                return AESGCM(_derived(key)).decrypt(nonce, rest, _bound(target)).decode()
        except (InvalidTag, ValueError):
            continue
    raise CredentialSealed(
        "the credential was not sealed for this target with SECRET_KEY or one of SECRET_KEY_FALLBACKS; put"
        " the old key among the fallbacks, or enter the credential again"
    )


def has_credential(target: BackupTarget) -> bool:
    """Whether there is one, without reading it."""
    return BackupTarget.objects.filter(pk=target.pk, credential__isnull=False).exists()


def _bound(target: BackupTarget) -> bytes:
    return f"backups.credential:{target.pk}:{target.kind}".encode()


def _derived(key: str | bytes) -> bytes:
    made = HKDF(SHA256(), length=32, salt=None, info=b"backups.credential")
    return made.derive(key if isinstance(key, bytes) else key.encode())
