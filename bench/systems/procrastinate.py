"""procrastinate: coroutines on its psycopg connector, the worker of its own application object."""

import asyncio
import logging
from typing import Any

import procrastinate
from psycopg_pool import AsyncConnectionPool

from bench.starts import note
from bench.systems import DSN, EFFECT, SLEEP

app = procrastinate.App(
    connector=procrastinate.PsycopgConnector(conninfo=DSN, min_size=4, max_size=20)
)
effects = AsyncConnectionPool(DSN, min_size=4, max_size=20, open=False, kwargs={"autocommit": True})


@app.task(name="noop")
async def noop(number: int) -> None:
    note(number)


@app.task(name="effect")
async def effect(number: int) -> None:
    note(number)
    async with effects.connection() as connection:
        await connection.execute(EFFECT, [number])


@app.task(name="sleep")
async def sleep(number: int) -> None:
    note(number)
    await asyncio.sleep(SLEEP)


def facts() -> dict[str, Any]:
    return {
        "tables": ["procrastinate_jobs"],
        "unfinished": "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')",
        "slower": 5,
        "clone": {
            "table": "procrastinate_jobs",
            "newest": "id",
            "skip": ["id"],
            "later": {"scheduled_at": "now() + interval '1 day'"},
            "finished": {"status": "'succeeded'"},
        },
        "setting": "PsycopgConnector, coroutines, concurrency=20; a body's effect is a commit of its own",
    }


async def setup() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


async def open() -> None:  # noqa: A001 - the adapters' verb
    await app.open_async()


async def close() -> None:
    await app.close_async()


async def enqueue(kind: str, number: int) -> None:
    await app.tasks[kind].defer_async(number=number)


async def enqueue_many(kind: str, numbers: list[int]) -> None:
    await app.tasks[kind].batch_defer_async(*[{"number": number} for number in numbers])


async def worker(concurrency: int | None, processes: int) -> None:
    logging.disable(logging.INFO)
    async with app.open_async(), effects:
        await app.run_worker_async(concurrency=concurrency or 20)
