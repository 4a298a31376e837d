"""Hand a composed message to the mail server, or put it into the directory that stands for one."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import EmailMessage

from notifications.conf import conf
from notifications.mail.connection import Connection
from notifications.mail.directory import store
from notifications.mail.faults import MailFault, SenderRefused, Stage, TryLater
from notifications.mail.kept import kept
from notifications.mail_server import Directory, Server, read_url
from notifications.sender import read_sender
from notifications.signals import mail_tried


def send(message: EmailMessage, *, before_data: Callable[[], object] | None = None) -> None:
    """Send one message of ``compose`` to its one recipient, over a kept connection where there is one.

    ``before_data`` is called once the server has accepted the recipient, before anything of the message
    leaves; what it raises ends the sending. Raises a ``MailFault``.
    """
    with _told():
        place = _place()
        sender, recipient = (message[each].addresses[0].addr_spec for each in ("From", "To"))
        wire = message.as_bytes()
        if isinstance(place, Directory):
            _call(before_data)
            store(place.path, message["Message-ID"], wire)
        else:
            _send(place, lambda each: each.send(sender, recipient, wire, before_data=before_data))


def try_sender() -> None:
    """Whether the server would take mail from us now. Nothing is sent. Raises ``SenderRefused`` or ``TryLater``."""
    place = _place()
    if isinstance(place, Server):
        address = read_sender(conf().notifications_from).address
        _send(place, lambda each: each.try_sender(address))


def _place() -> Server | Directory:
    if not conf().notifications_mail_url or not conf().notifications_from:
        raise SenderRefused(Stage.OPEN, code="mail.not_set")
    return read_url(conf().notifications_mail_url)


def _send(server: Server, over: Callable[[Connection], object]) -> None:
    free = kept.take(server)
    if free is not None:
        try:
            return _use(free, over)
        except TryLater as fault:
            # The server had hung up while the connection was kept: nobody's failure, nothing was said yet.
            if not fault.closed or fault.stage not in (Stage.MAIL, Stage.RCPT):
                raise
    return _use(Connection(server, timeout=conf().notifications_mail_timeout), over)


def _use(connection: Connection, over: Callable[[Connection], object]) -> None:
    try:
        over(connection)
    finally:
        kept.give_back(connection)


def _call(before_data: Callable[[], object] | None) -> None:
    if before_data is not None:
        before_data()


@contextmanager
def _told() -> Iterator[None]:
    began = time.monotonic()
    outcome, stage, reply = "broken", "", None
    try:
        yield
        outcome = "sent"
    except MailFault as fault:
        outcome, stage, reply = fault.code, str(fault.stage), fault.reply
        raise
    finally:
        mail_tried.send_robust(
            sender=None,
            outcome=outcome,
            stage=stage,
            reply=reply,
            seconds=time.monotonic() - began,
        )
