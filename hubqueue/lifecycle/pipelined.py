"""Statements whose answers nobody reads are sent one after the other, without a wait for each: libpq's pipeline."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import capabilities
from psycopg.abc import PQGen

from hubqueue.errors import Interrupted
from hubqueue.lifecycle.derived import derived

# What a cursor tells of a statement without a fetch.
TOLD = ("rowcount", "statusmessage", "description")
# So many statements go out at once. Each by itself would be a system call, a turn of the interpreter's lock and a
# wake-up of the server's process.
TOGETHER = 25


class _Patient(psycopg.Pipeline):
    """A pipeline that sends when enough statements wait, or an answer is read."""

    def _communicate_gen(self) -> PQGen[None]:
        if len(self.command_queue) >= TOGETHER:
            yield from super()._communicate_gen()

    def _fetch_gen(self, *, flush: bool) -> PQGen[None]:
        try:
            yield from super()._communicate_gen()
        finally:
            yield from super()._fetch_gen(flush=flush)


@contextmanager
def pipelined(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Let the statements of the block wait for no answer until one is read: rows, or one of ``TOLD``.

    The error of a statement is raised when the next answer is read, or at the end of the block, as Django's. From
    the error on the server runs nothing more of the block, and the transaction commits no more. A libpq before 14
    knows no pipeline: there each statement waits for its answer.
    """
    if not capabilities.has_pipeline():
        yield
        return
    connection.ensure_connection()
    held: Any = connection.connection
    held._pipeline = _Patient(held)
    pipeline = held.pipeline()
    pipeline.__enter__()
    plain = held.cursor_factory
    held.cursor_factory = derived(plain, "reading", _reading)
    # A pipeline has no server-side cursors: iterator() reads its result at once.
    connection.chunked_cursor = connection.cursor  # type: ignore[method-assign]
    try:
        with connection.wrap_database_errors:
            yield
            pipeline.__exit__(None, None, None)
    except BaseException as raised:
        if isinstance(raised, Interrupted):
            held.close()  # nothing is known of what was under way
        with suppress(psycopg.Error):  # its own words, with values in them, would go to the log
            pipeline.__exit__(None, None, None)
        raise
    finally:
        held.cursor_factory = plain
        del connection.chunked_cursor


def _reading(plain: type[psycopg.Cursor[Any]]) -> type[psycopg.Cursor[Any]]:
    """The same cursors, which wait for the answer before they tell anything of it."""

    def told(name: str) -> property:
        standing = getattr(plain, name)

        def tell(cursor: psycopg.Cursor[Any]) -> Any:
            pipeline = cursor.connection._pipeline
            if pipeline is not None and pipeline.result_queue:
                pipeline.sync()
            return standing.fget(cursor)

        return property(tell)

    return type(plain.__name__, (plain,), {name: told(name) for name in TOLD})
