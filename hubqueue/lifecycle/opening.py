"""A transaction's first statement brings its BEGIN along: one message to the server instead of two."""

from collections.abc import Callable
from typing import Any

from psycopg import ClientCursor, Connection
from psycopg.abc import Params, PQGen, Query
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.generators import execute
from psycopg.pq import DiagnosticField, Escaping, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from hubqueue.lifecycle.derived import derived

CANCELED = b"57014"
SPOIL = b'ROLLBACK TO SAVEPOINT "canceled before it began"'


class Opening(ClientCursor[Any]):
    """A cursor that sends ``BEGIN; statement`` where psycopg's own sends BEGIN, waits, and sends the statement."""

    def _execute_gen(
        self,
        query: Query,
        params: Params | None = None,
        *,
        prepare: bool | None = None,
        binary: bool | None = None,
    ) -> PQGen[None]:
        if binary or self.format or not self._opens():
            yield from super()._execute_gen(query, params, prepare=prepare, binary=binary)
            return
        self._reset()
        self._last_query = None
        self._tx = Transformer(self)
        self._query = asked = self._convert_query(query, params)
        self._pgconn.send_query(self._conn._get_tx_start_command() + b";\n" + asked.query)
        results = yield from execute(self._pgconn)
        if self._opens() and results and results[0].status == ExecStatus.FATAL_ERROR:
            # The server refused the message before it had begun. What fails is to fail inside a transaction.
            if results[0].error_field(DiagnosticField.SQLSTATE) != CANCELED:
                yield from super()._execute_gen(query, params, prepare=prepare, binary=binary)
                return
            yield from self._conn._start_query()
            self._pgconn.send_query(SPOIL)
            yield from execute(self._pgconn)
        self._check_results(results)
        self._set_results(results[1:] or results)

    def _opens(self) -> bool:
        return not self.closed and _opens(self._conn)


def literal(held: Connection[Any], value: bytes) -> bytes:
    """A value as it stands in a text that is to be asked."""
    return bytes(Escaping(held.pgconn).escape_literal(value))


def ask(
    held: Connection[Any], text: bytes, *, meanwhile: Callable[[], None] = lambda: None
) -> list[PGresult]:
    """Send a text as one message, and BEGIN with it where no transaction is open yet. Answers a result for each
    statement of the text. Raises psycopg's errors. Calls ``meanwhile``, which must not raise, while the server works.

    For what is sent for every job: a cursor costs more than the statement.
    """
    opens = _opens(held)
    if opens:
        text = held._get_tx_start_command() + b";\n" + text
    with held.lock:
        held.pgconn.send_query(text)
        meanwhile()
        results: list[PGresult] = held.wait(execute(held.pgconn))
    for result in results:
        if result.status == ExecStatus.FATAL_ERROR:
            raise error_from_result(result, encoding=held.info.encoding)
    return results[1:] if opens else results


def _opens(held: Connection[Any]) -> bool:
    """Whether the next statement is the first of a transaction, and psycopg would send BEGIN before it."""
    return (
        not held.autocommit
        and held._pipeline is None
        and held.pgconn.transaction_status == TransactionStatus.IDLE
    )


def open_together(held: Any) -> None:
    """Let the cursors of a connection bring BEGIN along, where they bind on the client's side: a message of the other
    protocol has room for one statement."""
    plain = held.cursor_factory
    known = isinstance(plain, type) and issubclass(plain, ClientCursor)
    if known and not issubclass(plain, Opening):
        held.cursor_factory = derived(plain, "opening", _opening)


def _opening(plain: type[Any]) -> type[Any]:
    return type(plain.__name__, (Opening, plain), {})
