"""What a test's own transaction hides: hooks after commit, deferred constraints, broken transactions."""

from collections.abc import Callable

from django.db import connections

from hubqueue.results import Result


def is_nested(using: str) -> bool:
    """Whether a transaction of somebody else (the test's) is open, so that attempts run in savepoints."""
    return connections[using].in_atomic_block


def as_committed(using: str, hooks_before: int) -> None:
    """Run the hooks an attempt registered, as its commit would have. The test's own hooks stay untouched."""
    connection = connections[using]
    while len(connection.run_on_commit) > hooks_before:
        entry = connection.run_on_commit.pop(hooks_before)
        entry[1]()


def checked(call: Callable[[], Result | None], *, detached: bool, using: str) -> Result | None:
    """Call a handler inside the test's transaction so that it fails where it would fail in production."""
    if detached:
        return _beside_autocommit(call, using)
    answer = call()
    connections[using].check_constraints()
    return answer


def _beside_autocommit(call: Callable[[], Result | None], using: str) -> Result | None:
    """A statement that fails outside ``atomic()`` harms nothing in production; here it breaks the test's
    transaction, which is rolled back to where the handler began."""
    before = connections[using].savepoint()
    try:
        answer = call()
    except BaseException:
        _mend(before, using)
        raise
    if _mend(before, using):
        raise AssertionError(
            "a detached handler went on after a failed statement outside atomic(); the test's"
            " transaction cannot show that: use TransactionTestCase, or atomic() around the statement"
        )
    return answer


def _mend(before: str | None, using: str) -> bool:
    connection = connections[using]
    if connection.connection is None or before is None:
        return False
    if not (connection.needs_rollback or _in_error(using)):
        connection.savepoint_commit(before)
        return False
    connection.needs_rollback = False
    connection.savepoint_rollback(before)
    return True


def _in_error(using: str) -> bool:
    return bool(connections[using].connection.info.transaction_status.name == "INERROR")


def usable(using: str) -> bool:
    """Whether the connection takes statements: a transaction that failed waits for its rollback first."""
    connection = connections[using]
    if connection.needs_rollback:
        return False
    return connection.connection is None or not _in_error(using)
