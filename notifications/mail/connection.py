"""One connection to a mail server: opened, logged in, and asked to take one message after the other."""

import re
import smtplib
import ssl
import time
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from django.core.mail.utils import DNS_NAME

from notifications.mail.faults import (
    AddressRefused,
    MailFault,
    MessageRefused,
    SenderRefused,
    Stage,
    TryLater,
    Unanswered,
)
from notifications.mail_server import Server

T = TypeVar("T")

# Whatever the stage, these are about our login and not about the message.
LOGIN_REPLIES = frozenset({530, 534, 535, 538})
REFUSALS: dict[Stage, type[MailFault]] = {
    Stage.RCPT: AddressRefused,
    Stage.DATA: MessageRefused,
    Stage.END: MessageRefused,
}
DOTS = re.compile(rb"(?m)^\.")
LINE_ENDS = re.compile(rb"\r\n|\r|\n")


class Connection:
    """Not for two threads at once. Whatever it raises that is no ``MailFault``, and each fault after which
    ``usable`` is False, leaves it good for nothing but ``close``."""

    def __init__(self, server: Server, *, timeout: float) -> None:
        """Connect and log in. ``timeout`` seconds for each answer. Raises ``TryLater`` or ``SenderRefused``."""
        self.server = server
        self.born = time.monotonic()
        self.messages = 0
        self.usable = True
        self._smtp = _opened(server, timeout)
        try:
            self._introduce()
        except BaseException:
            self._smtp.close()
            raise

    def send(
        self,
        sender: str,
        recipient: str,
        message: bytes,
        *,
        before_data: Callable[[], object] | None = None,
    ) -> None:
        """Hand one message over. ``before_data`` is called when the recipient was accepted, before anything of
        the message leaves. Raises a ``MailFault``."""
        wire = DOTS.sub(b"..", LINE_ENDS.sub(b"\r\n", message))
        if not wire.endswith(b"\r\n"):
            wire += b"\r\n"
        self.usable = False
        self._ask(Stage.MAIL, f"MAIL FROM:<{sender}>")
        self._ask(Stage.RCPT, f"RCPT TO:<{recipient}>")
        if before_data is not None:
            before_data()
        self._ask(Stage.DATA, "DATA", good=3)
        self._finish(wire + b".\r\n")
        self.messages += 1
        self.usable = True

    def try_sender(self, sender: str) -> None:
        """Whether the server would take a message from us. Nothing is sent."""
        self.usable = False
        self._ask(Stage.MAIL, f"MAIL FROM:<{sender}>")
        self._reset()

    def close(self) -> None:
        """Say goodbye without waiting for the answer."""
        try:
            if self.usable:
                self._smtp.putcmd("QUIT")
        except OSError:
            pass
        finally:
            self._smtp.close()

    def _introduce(self) -> None:
        """Encrypt, say hello, log in: nothing else is said before that."""
        server, smtp = self.server, self._smtp
        if server.tls == "starttls":
            _guarded(Stage.OPEN, lambda: smtp.starttls(context=trust()))
        _guarded(Stage.OPEN, smtp.ehlo_or_helo_if_needed)
        if server.user:
            _guarded(Stage.LOGIN, lambda: smtp.login(server.user, server.password))

    def _ask(self, stage: Stage, command: str, *, good: int = 2) -> None:
        try:
            reply, _ = self._smtp.docmd(command)
        except OSError as raised:  # every error of smtplib is one, too
            raise _lost(stage, raised) from None
        if reply // 100 == good:
            return
        fault = _refusal(stage, reply)
        if reply != 421:
            self._reset()
        raise fault

    def _finish(self, wire: bytes) -> None:
        """The message and its dot. Without a clear answer it may have arrived."""
        try:
            self._smtp.send(wire)
            reply, _ = self._smtp.getreply()
        except OSError as raised:
            raise Unanswered(
                Stage.END, code="mail.silent" if _is_timeout(raised) else None
            ) from None
        if reply // 100 == 2:
            return
        if reply // 100 not in (4, 5):
            raise Unanswered(Stage.END, reply)
        self.usable = reply != 421
        raise _refusal(Stage.END, reply)

    def _reset(self) -> None:
        """Make it ready for another message, if that can be had."""
        try:
            self.usable = self._smtp.rset()[0] == 250
        except OSError:
            self.usable = False


def _opened(server: Server, timeout: float) -> smtplib.SMTP:
    name = DNS_NAME.get_fqdn()
    if server.tls == "smtps":
        return _guarded(
            Stage.OPEN,
            lambda: smtplib.SMTP_SSL(
                server.host, server.port, name, timeout=timeout, context=trust()
            ),
        )
    return _guarded(
        Stage.OPEN, lambda: smtplib.SMTP(server.host, server.port, name, timeout=timeout)
    )


@lru_cache(maxsize=1)
def trust() -> ssl.SSLContext:
    """The authorities of the system, read once: certificates and names are checked."""
    return ssl.create_default_context()


def _guarded(stage: Stage, call: Callable[[], T]) -> T:
    """What smtplib raises while a connection is made, as a fault of ours without its words."""
    try:
        return call()
    except smtplib.SMTPResponseException as raised:
        raise _refusal(stage, raised.smtp_code) from None
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError, smtplib.SMTPServerDisconnected) as raised:
        raise _lost(stage, raised) from None
    except ssl.SSLError:
        raise SenderRefused(stage, code="mail.tls_refused") from None
    except smtplib.SMTPException:  # it offers no STARTTLS, or no login that we know
        code = "mail.login_refused" if stage is Stage.LOGIN else "mail.tls_refused"
        raise SenderRefused(stage, code=code) from None
    except OSError as raised:
        raise _lost(stage, raised) from None


def _refusal(stage: Stage, reply: int) -> MailFault:
    if reply in LOGIN_REPLIES or (stage is Stage.LOGIN and reply // 100 == 5):
        return SenderRefused(stage, reply, code="mail.login_refused")
    if reply // 100 == 5:
        return REFUSALS.get(stage, SenderRefused)(stage, reply)
    return TryLater(stage, reply, closed=reply == 421)


def _lost(stage: Stage, raised: OSError) -> TryLater:
    if _is_timeout(raised):
        return TryLater(stage, code="mail.silent")
    code = "mail.unreachable" if stage is Stage.OPEN else "mail.cut"
    return TryLater(stage, code=code, closed=True)


def _is_timeout(raised: OSError) -> bool:
    """smtplib hides a timeout behind its own error."""
    return isinstance(raised, TimeoutError) or isinstance(raised.__context__, TimeoutError)
