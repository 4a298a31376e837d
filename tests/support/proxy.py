"""A TCP proxy before PostgreSQL that reads along what clients ask for, and fails in ways a test asks for. No TLS."""

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Coroutine
from types import TracebackType
from typing import Self, TypeVar

from tests.support.link import Faults, Link, Trap, When

T = TypeVar("T")

COMMIT = r"(^|;)\s*COMMIT\b"


class Proxy:
    """``with Proxy(port) as proxy: connect(port=proxy.port)``. Methods may be called from any thread."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._links: set[asyncio.Task[None]] = set()
        self._refusing = False
        self._faults = Faults()
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._listen())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def freeze(self) -> None:
        """Keep every connection open, take new ones, and pass nothing on, in either direction."""
        self._loop.call_soon_threadsafe(self._faults.flowing.clear)

    def thaw(self) -> None:
        """Pass everything on again, also what was sent meanwhile."""
        self._loop.call_soon_threadsafe(self._faults.flowing.set)

    def delay(self, seconds: float) -> None:
        """From now on everything takes so long in either direction."""
        self._faults.pause = seconds

    def refuse(self, refuse: bool = True) -> None:
        """End new connections as soon as they come; those that stand are left alone."""
        self._refusing = refuse

    def cut_all(self) -> None:
        """End every connection at once, on both sides."""
        self._do(self._cut_all())

    def cut_at(self, words: str, when: When, *, times: int = 1, spare: int = 0) -> None:
        """Cut connections that ask for a statement like ``words``, ``times`` times, sparing ``spare`` before each.

        ``before``: the server never hears of it. ``after``: the server has done it and its answer is lost.
        With ``late`` and ``lost`` only the client is cut off, and the server keeps its session until ``release()``;
        then it hears of the statement, or of the cut alone, if the session is still there.
        """
        trap = Trap(re.compile(words.encode(), re.IGNORECASE), when, times, spare)
        self._faults.trap = trap

    @property
    def sprung(self) -> Counter[str]:
        """How many connections were cut at a statement, by ``when``."""
        return self._faults.sprung.copy()

    @property
    def armed(self) -> bool:
        """Whether a cut is still to come."""
        trap = self._faults.trap
        return trap is not None and trap.times > 0

    def release(self) -> None:
        """Let the server hear of what is late."""
        self._loop.call_soon_threadsafe(self._release)

    def _do(self, work: Coroutine[None, None, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self) -> None:
        self._faults.flowing.set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        await self._cut_all()

    async def _cut_all(self) -> None:
        links = list(self._links)
        for link in links:
            link.cancel()
        await asyncio.gather(*links, return_exceptions=True)

    def _release(self) -> None:
        self._faults.released.set()
        self._faults.released = asyncio.Event()

    async def _serve(self, asks: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        link = asyncio.current_task()
        assert link is not None
        self._links.add(link)
        try:
            await self._faults.flowing.wait()
            if not self._refusing:
                answers, server = await asyncio.open_connection("127.0.0.1", self._target)
                await Link(self._faults, asks, client, answers, server).run()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            client.transport.abort()
            self._links.discard(link)
