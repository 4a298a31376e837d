"""Make a message of its texts. Whatever a name or a subject holds, it stays in its header."""

import unicodedata
from collections.abc import Iterable, Mapping
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import format_datetime
from typing import Any, Protocol

from django.utils import timezone

from notifications.addresses import sendable
from notifications.conf import conf
from notifications.mail.faults import SenderRefused, Stage
from notifications.sender import read_sender

LONGEST_NAME = 60
LONGEST_SUBJECT = 500
# What a display name may hold beside letters, marks and digits: nothing that has a meaning in a header.
PLAIN_IN_NAMES = " -'"
LONGEST_LINE = 998


class Text(Protocol):
    """A rendered message."""

    @property
    def subject(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def html(self) -> str: ...


class Wire(EmailPolicy):
    """ASCII only on the wire; headers that are no prose stay as they are, since folding would encode long URLs."""

    PROSE = frozenset({"subject", "from", "to"})

    def fold(self, name: str, value: Any) -> str:
        return self._whole(name, value) or super().fold(name, value)

    def fold_binary(self, name: str, value: Any) -> bytes:
        whole = self._whole(name, value)
        return whole.encode("ascii") if whole else super().fold_binary(name, value)

    def _whole(self, name: str, value: Any) -> str | None:
        if name.lower() in self.PROSE or name.lower().startswith("content-"):
            return None
        line = f"{name}: {value}"
        if not line.isascii() or not line.isprintable() or len(line) > LONGEST_LINE:
            return None
        return line + str(self.linesep)


WIRE = Wire(linesep="\r\n", cte_type="7bit")


def compose(
    rendered: Text,
    *,
    to: str,
    message_id: str,
    headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    name: str = "",
) -> EmailMessage:
    """The message to one recipient, with ``<message_id@our domain>`` as its Message-ID.

    ``name`` is shown beside the address where it is harmless. Raises ``AddressUnsendable``, ``ValueError`` for a
    header of more than a line, and ``SenderRefused`` while no sender is set.
    """
    if not conf().notifications_from:
        raise SenderRefused(Stage.OPEN, code="mail.not_set")
    sender = read_sender(conf().notifications_from)
    message = EmailMessage(policy=WIRE)
    message["From"] = _address(_one_line(sender.name), sender.address)
    message["To"] = _address(_harmless(name), sendable(to))
    message["Subject"] = _one_line(rendered.subject)[:LONGEST_SUBJECT]
    message["Date"] = format_datetime(timezone.now())
    message["Message-ID"] = _whole_line(f"<{message_id}@{sender.domain}>")
    message["Auto-Submitted"] = "auto-generated"
    for header, value in dict(headers).items():
        message[header] = _whole_line(value)
    message.set_content(_lines(rendered.text))
    if rendered.html:
        message.add_alternative(_lines(rendered.html), subtype="html")
    return message


def _address(name: str, address: str) -> Address:
    user, _, domain = address.rpartition("@")
    if user.startswith('"'):
        return Address(name, addr_spec=address)
    return Address(name, user, domain)


def _one_line(text: str) -> str:
    """Control characters and line ends become spaces."""
    printable = "".join(each if each.isprintable() else " " for each in text)
    return " ".join(printable.split())


def _whole_line(value: str) -> str:
    if not value.isprintable():
        raise ValueError("expected a header of one line, got a line end or a control character")
    return value


def _harmless(name: str) -> str:
    name = unicodedata.normalize("NFC", name.strip())
    if len(name) > LONGEST_NAME:
        return ""
    plain = all(
        each in PLAIN_IN_NAMES or unicodedata.category(each)[0] in ("L", "M", "N") for each in name
    )
    return name if plain else ""


def _lines(text: str) -> str:
    """One kind of line end: a bare CR would be a line end to one server and none to the next."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
