"""A real SMTP server whose answers a test writes: it refuses, hangs and hangs up where it is told to."""

import asyncio
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from threading import Event, Thread
from typing import Any
from unittest import mock
from urllib.parse import quote

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

logging.getLogger("mail.log").setLevel(logging.WARNING)

DROP, HANG = "drop", "hang"
# A reply to give, DROP, HANG, or a function of the command's argument that answers one of these or None.
Answer = str | Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Mail:
    sender: str
    recipient: str
    wire: bytes
    client: tuple[str, int]

    @property
    def message(self) -> EmailMessage:
        found = message_from_bytes(self.wire, policy=default)
        assert isinstance(found, EmailMessage)
        return found


@dataclass
class MailServer:
    """``answers[stage]``: what it says at MAIL, RCPT, DATA, END (after the data), AUTH, OPEN, RSET: a list is used up
    from its front, anything else stands. ``after_accepting`` is called with each mail before its 250 goes out."""

    login: tuple[str, str] | None = None
    certificate: Path | None = None
    answers: dict[str, Answer | list[Answer]] = field(default_factory=dict)
    mails: list[Mail] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    after_accepting: Callable[[Mail], object] | None = None
    open: set[Any] = field(default_factory=set)
    port: int = 0
    scheme: str = "smtp"

    @property
    def url(self) -> str:
        user = (
            ""
            if self.login is None
            else ":".join(quote(each, safe="") for each in self.login) + "@"
        )
        tls = "?tls=starttls" if self._offers_starttls else ""
        return f"{self.scheme}://{user}localhost:{self.port}{tls}"

    @property
    def _offers_starttls(self) -> bool:
        return bool(self.certificate) and self.scheme == "smtp"

    @property
    def recipients(self) -> list[str]:
        return [each.recipient for each in self.mails]

    def answer(self, stage: str, argument: str) -> str | None:
        self.seen[stage] += 1
        given: Any = self.answers.get(stage)
        if isinstance(given, list):
            given = given.pop(0) if given else None
        return given(argument) if callable(given) else given

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        assert session.peer is not None
        wire = envelope.original_content
        assert isinstance(wire, bytes)
        scripted = self.answer("END", envelope.rcpt_tos[0])
        if scripted is not None and scripted[0] in "45":
            return scripted
        mail = Mail(envelope.mail_from or "", ",".join(envelope.rcpt_tos), wire, session.peer[:2])
        self.mails.append(mail)
        if self.after_accepting is not None:
            await asyncio.to_thread(self.after_accepting, mail)
        if scripted == DROP:
            server.transport.abort()
        if scripted == HANG:
            await asyncio.Event().wait()
        return scripted or "250 OK"

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any):
        assert isinstance(data, LoginPassword)
        given = data.login.decode(), data.password.decode()
        return AuthResult(success=given == self.login, handled=False)


class _Scripted(SMTP):
    event_handler: MailServer

    def connection_made(self, transport: Any) -> None:
        if not isinstance(transport, asyncio.sslproto._SSLProtocolTransport):
            self.event_handler.seen["connections"] += 1
        self.event_handler.open.add(transport)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.event_handler.open.discard(self.transport)
        super().connection_lost(error)

    async def _handle_client(self) -> None:
        if not await self._says("OPEN"):
            await super()._handle_client()
        elif self.transport is not None:
            self.transport.close()

    async def smtp_AUTH(self, arg: str) -> None:
        if not await self._says("AUTH", arg):
            await super().smtp_AUTH(arg)

    async def smtp_MAIL(self, arg: str) -> None:
        if await self._says("MAIL", arg):
            return
        if self.event_handler.login and not (self.session and self.session.authenticated):
            await self.push("530 5.7.0 log in first")
        else:
            await super().smtp_MAIL(arg)

    async def smtp_RCPT(self, arg: str) -> None:
        if not await self._says("RCPT", arg):
            await super().smtp_RCPT(arg)

    async def smtp_DATA(self, arg: str) -> None:
        if not await self._says("DATA", arg):
            await super().smtp_DATA(arg)

    async def smtp_RSET(self, arg: str) -> None:
        if not await self._says("RSET", arg):
            await super().smtp_RSET(arg)

    async def _says(self, stage: str, argument: str = "") -> bool:
        scripted = self.event_handler.answer(stage, argument or "")
        if scripted == DROP:
            self.transport.abort()
        elif scripted == HANG:
            await asyncio.Event().wait()
        elif scripted is not None:
            await self.push(scripted)
            if scripted.startswith("421"):
                self.transport.close()
        return scripted is not None


@contextmanager
def mail_server(**options: Any) -> Iterator[MailServer]:
    """A server on a free port of localhost, until the end of the block."""
    made = MailServer(**options)
    loop = asyncio.new_event_loop()
    ready = Event()
    thread = Thread(target=_serve, args=[made, loop, ready], daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield made
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)


def trusting(certificate: Path) -> Any:
    """A patch of the environment under which OpenSSL trusts this certificate alone."""
    return mock.patch.dict("os.environ", SSL_CERT_FILE=str(certificate.with_suffix(".crt")))


def _serve(made: MailServer, loop: asyncio.AbstractEventLoop, ready: Event) -> None:
    context = None
    if made.certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(made.certificate)
    at_once = made.scheme == "smtps"

    def speak() -> SMTP:
        return _Scripted(
            made,
            hostname="mail.example",
            loop=loop,
            tls_context=None if at_once else context,
            authenticator=made.authenticate,
            auth_require_tls=context is not None and not at_once,
            enable_SMTPUTF8=False,
        )

    async def listen() -> asyncio.Server:
        server = await loop.create_server(
            speak, "127.0.0.1", 0, family=socket.AF_INET, ssl=context if at_once else None
        )
        made.port = server.sockets[0].getsockname()[1]
        return server

    asyncio.set_event_loop(loop)
    server = loop.run_until_complete(listen())
    ready.set()
    loop.run_forever()
    server.close()
    for transport in [*made.open]:
        transport.abort()
    left = asyncio.all_tasks(loop)
    for each in left:
        each.cancel()
    loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
