"""``async def`` handlers that behave as a proof asks."""

import asyncio
import os
import time
from contextlib import suppress
from datetime import timedelta

from asgiref.sync import sync_to_async
from django.db import connection

from hubqueue.api import Backoff, Dead, Done, JobContext, Park, Repeat, Result, Retry, handler
from tests.support.proof.gates import has, read
from tests.support.proof.handlers import SOON, began, write

LOOK_EVERY = 0.01
LATE = Backoff(base=timedelta(days=300), cap=timedelta(days=300))


async def opened(name: str) -> None:
    """Until somebody said ``name``, without keeping the loop."""
    while not has(name):
        await asyncio.sleep(LOOK_EVERY)


awrite = sync_to_async(write)


@handler("afloat.call", detached=True, max_attempts=5, backoff=SOON)
async def call(job: JobContext, *, host: str, port: int) -> Result:
    """Ask a server and wait for its answer."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(f"{job.effect_key}\n".encode())
        answer = await reader.readline()
    finally:
        writer.close()
    return Done({"answer": answer.decode().strip()})


@handler("afloat.gated", detached=True, max_attempts=5, backoff=LATE)
async def gated(job: JobContext, *, name: str) -> Result | None:
    """Wait at the gate of this run (``go-`` and its fence), then do what is written there."""
    began(job, name)
    fence = job.claimed.fence
    await opened(f"go-{fence}")
    words = read(f"go-{fence}")
    if "write" in words:
        await awrite(f"{name} by {fence}")
    if "progress" in words:
        job.progress(0.5)
        await opened(f"told-{fence}")
    if "guarded" in words:
        async with job.atransaction():
            await awrite(f"{name} guarded by {fence}")
    if "checkpoint" in words:
        job.checkpoint()
    match words:
        case [*_, "fail"]:
            raise RuntimeError("as asked")
        case [*_, "cancel"]:
            raise asyncio.CancelledError
        case [*_, "retry"]:
            return Retry(after=timedelta(hours=1))
        case [*_, "dead"]:
            return Dead("as_asked")
        case [*_, "park"]:
            return Park("as asked")
        case [*_, "repeat"]:
            return Repeat(after=timedelta(hours=1))
    return Done({"by": fence}, record=lambda: write(f"{name} recorded by {fence}"))


@gated.on_abandon
def abandoned(job: JobContext) -> None:
    """Leave a trace in the move's transaction."""
    write(f"abandoned {job.claimed.payload['name']}")


@handler("afloat.hang", detached=True, timeout=timedelta(seconds=1), max_attempts=1)
async def hang(job: JobContext, *, name: str, how: str) -> None:
    """Never end by itself."""
    began(job, name)
    match how:
        case "await":
            await asyncio.Event().wait()
        case "sql":
            await sync_to_async(sleep_in_sql)()
        case "sql in a transaction":
            async with job.atransaction():
                await awrite(name)
                await sync_to_async(sleep_in_sql)()
        case "loop in a thread":
            await sync_to_async(spin)()
        case "swallowed":
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        case "swallows for ever":
            while True:
                with suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
        case "blocks the loop":
            time.sleep(600)


def sleep_in_sql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(600)")


def spin() -> None:
    while True:
        pass


@handler("afloat.blocker", detached=True, timeout=timedelta(hours=1), max_attempts=2, backoff=SOON)
async def blocker(job: JobContext, *, name: str) -> None:
    """Keep the loop from turning."""
    began(job, name)
    time.sleep(600)


@handler("afloat.short", detached=True, timeout=timedelta(seconds=1), max_attempts=1)
async def short(job: JobContext, *, name: str) -> None:
    """A good neighbour with a short timeout: waits for its gate."""
    await opened(f"go-{began(job, name)}")
    await awrite(name)


@handler("afloat.pair", detached=True, max_attempts=1)
async def pair(job: JobContext, *, name: str, fail: bool) -> Result:
    """Write two rows in a transaction, with a wait in between; then raise, or not."""
    began(job, name)
    with suppress(ArithmeticError):
        async with job.atransaction():
            await awrite(f"{name} one")
            await opened(f"go-{name}")
            await awrite(f"{name} two")
            if fail:
                raise ArithmeticError
    return Done({"pid": os.getpid()})
