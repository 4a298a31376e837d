"""pgqueuer: asyncpg pool, uvloop, supervised as by its own command line."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import uvloop
from pgqueuer import AsyncpgPoolDriver, Job, PgQueuer, Queries
from pgqueuer import run as supervise

from bench.starts import note
from bench.systems import DSN, SLEEP

queries: Queries


def facts() -> dict[str, Any]:
    return {
        "tables": ["pgqueuer", "pgqueuer_log"],
        "unfinished": "SELECT count(*) FROM pgqueuer",
        "clone": {
            "table": "pgqueuer",
            "newest": "id",
            "skip": ["id"],
            "later": {"execute_after": "now() + interval '1 day'"},
        },
        "setting": "AsyncpgPoolDriver, uvloop, batch_size=1000; completions are flushed in batches, apart from"
        " a body's effect, which is a commit of its own",
    }


async def open() -> None:  # noqa: A001 - the adapters' verb
    global queries
    queries = Queries(AsyncpgPoolDriver(await asyncpg.create_pool(DSN, min_size=2, max_size=4)))


async def setup() -> None:
    await open()
    await queries.install()


async def enqueue(kind: str, number: int) -> None:
    await queries.enqueue([kind], [str(number).encode()], [0])


async def enqueue_many(kind: str, numbers: list[int]) -> None:
    payloads: list[bytes | None] = [str(number).encode() for number in numbers]
    await queries.enqueue([kind] * len(numbers), payloads, [0] * len(numbers))


@asynccontextmanager
async def application() -> AsyncIterator[PgQueuer]:
    async with asyncpg.create_pool(DSN, min_size=2, max_size=20) as pool:
        queuer = PgQueuer(AsyncpgPoolDriver(pool))

        @queuer.entrypoint("noop")
        async def noop(job: Job) -> None:
            note(int(job.payload or b"0"))

        @queuer.entrypoint("effect")
        async def effect(job: Job) -> None:
            number = int(job.payload or b"0")
            note(number)
            await pool.execute("INSERT INTO effect (number) VALUES ($1)", number)

        @queuer.entrypoint("sleep")
        async def sleep(job: Job) -> None:
            note(int(job.payload or b"0"))
            await asyncio.sleep(SLEEP)

        yield queuer


def worker(concurrency: int | None, processes: int) -> None:
    logging.disable(logging.INFO)
    uvloop.run(supervise(application, batch_size=concurrency or 1000))
