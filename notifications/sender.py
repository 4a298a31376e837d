"""Who writes: the sender's name and address, as the setting gives them."""

from dataclasses import dataclass
from email.utils import parseaddr
from functools import lru_cache

from notifications.addresses import sendable
from notifications.errors import AddressUnsendable


@dataclass(frozen=True, slots=True)
class Sender:
    """``name`` may be empty. ``address`` is as SMTP takes it."""

    name: str
    address: str

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2]


@lru_cache(maxsize=4)
def read_sender(given: str) -> Sender:
    """The sender of ``name@example.org`` or ``Our name <name@example.org>``. Raises ``AddressUnsendable``."""
    expected = "expected NOTIFICATIONS_FROM such as Our name <name@example.org>"
    name, address = parseaddr(given)
    if not address or not given.isprintable():
        raise AddressUnsendable(f"{expected}, got no address.")
    try:
        return Sender(name, sendable(address))
    except AddressUnsendable:
        raise AddressUnsendable(f"{expected}, got an address that cannot be used.") from None
