"""Secrets and signatures by Standard Webhooks: ``whsec_`` and base64, HMAC-SHA256 in version v1."""

import base64
import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime

from notifications.sealing import seal, unseal

PREFIX = "whsec_"
PURPOSE = "webhook secret"
BYTES = 32


class Secret(str):
    """Text that is printed only by whoever means to: Django logs and reports the variables of pages by ``repr``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<Secret>"


def new_secret() -> Secret:
    """A secret to show once and to keep sealed."""
    return Secret(PREFIX + base64.b64encode(secrets.token_bytes(BYTES)).decode("ascii"))


def sealed(secret: str) -> str:
    return seal(secret, PURPOSE)


def unsealed(kept: str) -> Secret:
    """Raises ``SealBroken``."""
    return Secret(unseal(kept, PURPOSE))


def seconds_of(moment: datetime) -> str:
    """A moment as ``webhook-timestamp`` has it."""
    return str(int(moment.timestamp()))


def signatures(keys: Iterable[str], message_id: str, timestamp: str, body: bytes) -> str:
    """One signature per secret, separated by spaces: a receiver is content with any of them."""
    signed = b".".join([message_id.encode(), timestamp.encode(), body])
    return " ".join(f"v1,{_signature(key, signed)}" for key in keys)


def _signature(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.digest(key, signed, "sha256")).decode("ascii")
