"""An SMTP server that takes everything and notes when: `python -m bench.mail_server LOG SECONDS [CERTIFICATE]`.

Each answer takes it so many seconds, as the way there and back would. With a certificate it asks for STARTTLS
and a login, as submission servers do. It prints its port.
"""

import asyncio
import logging
import ssl
import sys
import time
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult

USER, PASSWORD = "bench", "secret"


class Sink:
    """Appends the moment of each accepted message, in seconds since the epoch, to the log."""

    def __init__(self, log: Path) -> None:
        self.file = log.open("a", buffering=1)

    async def handle_DATA(self, server: SMTP, session: Any, envelope: Any) -> str:  # noqa: N802 aiosmtpd's name
        self.file.write(f"{time.time()}\n")
        return "250 OK"


class Far(SMTP):
    """Answers late."""

    delay = 0.0

    async def push(self, status: Any) -> None:
        if self.delay:
            await asyncio.sleep(self.delay)
        await super().push(status)


def authenticate(
    server: Any, session: Any, envelope: Any, mechanism: str, given: Any
) -> AuthResult:
    return AuthResult(success=(given.login, given.password) == (USER.encode(), PASSWORD.encode()))


async def serve(log: Path, certificate: str | None) -> None:
    context = None
    if certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
    sink, loop = Sink(log), asyncio.get_running_loop()

    def speak() -> SMTP:
        return Far(
            sink,
            hostname="mail.example",
            loop=loop,
            tls_context=context,
            require_starttls=context is not None,
            auth_required=context is not None,
            authenticator=authenticate,
        )

    server = await loop.create_server(speak, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    logging.getLogger("mail.log").setLevel(logging.ERROR)
    Far.delay = float(sys.argv[2])
    asyncio.run(serve(Path(sys.argv[1]), sys.argv[3] if len(sys.argv) > 3 else None))
