"""Secrets that are kept in rows: sealed with keys of this installation, one per purpose.

The keys come from ``SECRET_KEY`` and then from ``SECRET_KEY_FALLBACKS``: after a change of the key what was
sealed before opens as long as the old one is among the fallbacks. Seal anew before you drop it.
"""

from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from notifications.errors import SealBroken


def seal(text: str, purpose: str) -> str:
    """The text, readable only for ``unseal`` with the same purpose. Sealed twice it looks different."""
    return _box(purpose).encrypt(text.encode()).decode("ascii")


def unseal(sealed: str, purpose: str) -> str:
    """What was sealed. Raises ``SealBroken`` when it was not sealed for this purpose with a key we have."""
    try:
        return _box(purpose).decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise SealBroken(
            "expected something sealed with SECRET_KEY or one of SECRET_KEY_FALLBACKS; put the key it was"
            " sealed with among the fallbacks, or set a new secret"
        ) from None


def _box(purpose: str) -> MultiFernet:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([Fernet(_derived(key, purpose)) for key in keys])


def _derived(key: str | bytes, purpose: str) -> bytes:
    made = HKDF(SHA256(), length=32, salt=None, info=f"notifications.sealing:{purpose}".encode())
    return urlsafe_b64encode(made.derive(key if isinstance(key, bytes) else key.encode()))
