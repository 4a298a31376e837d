"""Runs inside a system's own virtualenv: `python -m bench.agent SYSTEM OPERATION JSON`.

The last line of its output is the answer, one JSON value. Clocks run in here, after the imports and the
first enqueues, so that neither an interpreter's start nor a connection's is measured.
"""

import asyncio
import importlib
import inspect
import json
import sys
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from bench.ready import await_signal


class Agent:
    """One operation of one adapter, whose functions may be coroutines."""

    def __init__(self, adapter: ModuleType) -> None:
        self.adapter = adapter
        self.loop = asyncio.new_event_loop()

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function of the adapter, if it has it."""
        function = getattr(self.adapter, name, None)
        answer = function(*arguments) if function else None
        return self.loop.run_until_complete(answer) if inspect.isawaitable(answer) else answer

    def setup(self) -> dict[str, Any]:
        """Make the tables; what the harness has to know of the system."""
        self.call("setup")
        bulk = hasattr(self.adapter, "enqueue_many")
        return {"bulk": bulk, "kinds": ["noop", "effect", "sleep"], **self.adapter.facts()}

    def enqueue(
        self, kind: str, first: int, count: int, every: float = 0, warm: int = 0
    ) -> dict[str, Any]:
        """One by one, each its own commit, ``every`` so many seconds: when each call returned."""
        self._open(warm)
        numbers = range(first, first + count)
        return _timed(lambda: {"sent": self._one_by_one(kind, numbers, every)})

    def load(self, kind: str, first: int, count: int, warm: int = 0) -> dict[str, Any]:
        """All in one call, where there is a bulk call; else by whatever is fastest."""
        self._open(warm)
        name = "enqueue_many" if hasattr(self.adapter, "enqueue_many") else "load"
        return _timed(lambda: self.call(name, kind, list(range(first, first + count))))

    def flood(self, seconds: float, slices: int) -> dict[str, float]:
        """One by one for so long, together with others: see ``bench/chorus.py``.

        Slices of time in turn without and with the doorbell, so that whatever else the machine does falls on
        both: jobs a second of each.
        """
        self._open(1)
        await_signal()
        sent, until = [0, 0], time.perf_counter()
        for number in range(2 * slices):
            until += seconds / (2 * slices)
            self.call("silence", number % 2 == 0)
            while time.perf_counter() < until:
                self._one_by_one("noop", [sent[number % 2]], 0)
                sent[number % 2] += 1
        return {"silent": 2 * sent[0] / seconds, "rate": 2 * sent[1] / seconds}

    def worker(self, concurrency: int | None, processes: int) -> None:
        """Become the worker."""
        self.call("worker", concurrency, processes)

    def _open(self, warm: int) -> None:
        """Connect, and enqueue so many jobs before the clock starts."""
        self.call("open")
        self._one_by_one("noop", [0] * warm, 0)

    def _one_by_one(self, kind: str, numbers: Sequence[int], every: float) -> list[float]:
        if inspect.iscoroutinefunction(self.adapter.enqueue):
            return self.loop.run_until_complete(self._await_each(kind, numbers, every))
        sent, began = [], time.monotonic()
        for place, number in enumerate(numbers):
            if every:
                time.sleep(max(0.0, began + place * every - time.monotonic()))
            self.adapter.enqueue(kind, number)
            sent.append(time.monotonic())
        return sent

    async def _await_each(self, kind: str, numbers: Sequence[int], every: float) -> list[float]:
        sent, began = [], time.monotonic()
        for place, number in enumerate(numbers):
            if every:
                await asyncio.sleep(max(0.0, began + place * every - time.monotonic()))
            await self.adapter.enqueue(kind, number)
            sent.append(time.monotonic())
        return sent


def _timed(run: Callable[[], Any]) -> dict[str, Any]:
    began, busy = time.perf_counter(), time.process_time()
    answer = run()
    spent = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - busy}
    return {**(answer if isinstance(answer, dict) else {}), **spent}


def main() -> None:
    name, operation, given = sys.argv[1:4]
    agent = Agent(importlib.import_module(f"bench.systems.{name}"))
    run = getattr(agent, operation, None) or (
        lambda **named: agent.call(operation, *named.values())
    )
    answer = run(**json.loads(given))
    agent.call("close")
    print(f"\n{json.dumps(answer)}", flush=True)


if __name__ == "__main__":
    main()
