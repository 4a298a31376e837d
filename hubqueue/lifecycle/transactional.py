"""A transactional attempt: the handler's writes and the job's completion are one commit."""

import logging
from collections.abc import Callable
from datetime import timedelta
from time import monotonic

from django.db import DatabaseError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from hubqueue.conf import conf
from hubqueue.errors import TransactionLeftOpen
from hubqueue.lifecycle.connections import is_connection_loss, may_commit
from hubqueue.lifecycle.context import JobContext
from hubqueue.lifecycle.failure import broken_by
from hubqueue.lifecycle.room import room
from hubqueue.lifecycle.settle import Abandon, Settled, Verdict, is_last_word, settle_within
from hubqueue.results import Done, Result

log = logging.getLogger(__name__)


class InDoubt(Exception):
    """COMMIT was sent and its answer lost: the row knows."""


def perform(
    job: JobContext,
    invoke: Callable[[], Result | None],
    judge: Callable[[Result | None], Verdict],
    *,
    abandon: Abandon | None,
    limit: timedelta,
) -> Settled:
    """Run and settle in one transaction. Whatever is raised rolled everything back, except ``InDoubt``."""
    started = monotonic()
    committing = committed = False
    connection = connections[job.using]
    nested = connection.in_atomic_block
    hooks_before = len(connection.run_on_commit)

    def note() -> None:
        nonlocal committed
        committed = True

    try:
        with transaction.atomic(using=job.using):
            connection.on_commit(note)
            answer = invoke()
            if isinstance(answer, Done) and answer.record is not None:
                answer.record()
            verdict = judge(answer)
            left = max(timedelta(0), limit - timedelta(seconds=monotonic() - started))
            committing = is_last_word(verdict) and may_commit(connection)
            with room():
                (settled,) = settle_within(
                    [(job.claimed, verdict)],
                    using=job.using,
                    abandon=abandon,
                    patience=left + conf().settle_grace,
                    commit=committing,
                )
            shield_hooks(connection, since=hooks_before + 1)
            committing = True
    except DatabaseError as raised:
        if committing and not committed and is_connection_loss(raised, job.using):
            raise InDoubt from raised
        if committing and not committed:
            with room():
                raise
        raise
    if not committed and not nested:
        raise TransactionLeftOpen("a handler leaves every atomic() block that it enters")
    return settled


def shield_hooks(connection: BaseDatabaseWrapper, *, since: int = 0) -> None:
    """Make every ``on_commit`` hook run by itself: one that fails is logged and loses no other.

    The work is committed by then, so a hook's failure must not be taken for the attempt's. The first
    ``since`` hooks are our own, or belong to a transaction around the attempt (a test's), and are left alone.
    """
    connection.run_on_commit[since:] = [
        (entry[0], _shielded(entry[1]), *entry[2:]) for entry in connection.run_on_commit[since:]
    ]


def _shielded(hook: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        try:
            hook()
        except Exception as raised:
            broken = broken_by(raised)
            log.error("on_commit hook failed: %s %s", broken.exception, broken.code)

    return run
