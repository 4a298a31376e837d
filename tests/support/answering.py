"""A server that answers each line after a while, and remembers how many wait for it."""

import asyncio
from collections import Counter
from threading import Event, Thread


class AnsweringServer:
    """Answers on ``port`` of the local machine, ``seconds`` after it was asked."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.new_event_loop()
        self._serving = Event()
        self.port = 0
        self.waiting = 0
        self.most = 0
        self.asked: Counter[str] = Counter()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> "AnsweringServer":
        self._thread.start()
        self._serving.wait()
        return self

    def __exit__(self, *raised: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=10)
        self._loop.close()

    def _run(self) -> None:
        server = self._loop.run_until_complete(
            asyncio.start_server(self._answer, "127.0.0.1", 0, backlog=1000)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._serving.set()
        self._loop.run_forever()
        server.close()
        self._loop.run_until_complete(self._leave())

    async def _leave(self) -> None:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for each in left:
            each.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        question = await reader.readline()
        self.asked[question.decode().strip()] += 1
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        try:
            await asyncio.sleep(self._seconds)
            writer.write(question)
            await writer.drain()
        finally:
            self.waiting -= 1
            writer.close()
