"""One connection through the proxy, and the faults that it obeys."""

import asyncio
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from tests.support.messages import Asked

When = Literal["before", "after", "late", "lost"]
READY_FOR_QUERY = b"Z\x00\x00\x00\x05"
SYNC = b"S\x00\x00\x00\x04"


@dataclass(slots=True)
class Trap:
    """See ``Proxy.cut_at``."""

    words: re.Pattern[bytes]
    when: When
    times: int
    spare: int
    spared: int = 0

    def springs(self) -> bool:
        """Whether it springs at the statement that was just met."""
        self.spared += 1
        if not self.times or self.spared <= self.spare:
            return False
        self.spared = 0
        self.times -= 1
        return True


@dataclass(slots=True)
class Faults:
    """What all connections of a proxy are told; touched in the thread of its loop alone."""

    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    trap: Trap | None = None
    pause: float = 0.0
    sprung: Counter[str] = field(default_factory=Counter)


class Link:
    """One connection, until either side ends it or it is cut."""

    def __init__(
        self,
        faults: Faults,
        asks: asyncio.StreamReader,
        client: asyncio.StreamWriter,
        answers: asyncio.StreamReader,
        server: asyncio.StreamWriter,
    ) -> None:
        self._faults = faults
        self._asks, self._client = asks, client
        self._answers, self._server = answers, server
        self._asked = Asked()
        self._muted = False
        self._answered = asyncio.Event()

    async def run(self) -> None:
        ways = [asyncio.ensure_future(self._ask()), asyncio.ensure_future(self._answer())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            self._server.transport.abort()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _ask(self) -> None:
        while chunk := await self._asks.read(65536):
            trap = self._faults.trap
            if self._asked.feed(chunk, trap and trap.words) and trap and trap.springs():
                await self._cut(chunk, trap.when)
                return
            await self._pass_on(chunk, self._server)

    async def _answer(self) -> None:
        tail = b""
        while chunk := await self._answers.read(65536):
            if not self._muted:
                await self._pass_on(chunk, self._client)
                continue
            tail = (tail + chunk)[-6:]
            if tail[:5] == READY_FOR_QUERY:
                self._answered.set()

    async def _pass_on(self, chunk: bytes, end: asyncio.StreamWriter) -> None:
        await asyncio.sleep(self._faults.pause)
        await self._faults.flowing.wait()
        end.write(chunk)
        await end.drain()

    async def _cut(self, chunk: bytes, when: When) -> None:
        self._muted = True
        try:
            if when in ("late", "lost"):
                self._client.transport.abort()
                await self._faults.released.wait()
            if when in ("late", "after"):
                # A client inside a pipeline has not asked for an answer yet, and will not come to it.
                self._server.write(chunk[: len(chunk) - self._asked.unfinished] + SYNC)
                await self._answered.wait()
        finally:  # also when the server ends the session first
            self._faults.sprung[when] += 1
