"""A detached attempt: no transaction is open while the handler runs; its completion is a transaction of its own."""

from collections.abc import Callable
from datetime import timedelta

from django.db import DatabaseError, connections

from hubqueue.conf import conf
from hubqueue.errors import LeaseLost, TransactionLeftOpen, Unsettled
from hubqueue.lifecycle.connections import is_connection_loss, is_left_open
from hubqueue.lifecycle.context import JobContext
from hubqueue.lifecycle.owed import Owed, store
from hubqueue.lifecycle.settle import Abandon, Settled, Verdict
from hubqueue.results import Done, Result


class Unstored(Exception):
    """The work is done, its completion could not be stored yet: ``owed`` is to be paid."""

    def __init__(self, owed: Owed) -> None:
        super().__init__("the completion could not be stored yet")
        self.owed = owed


def perform(
    job: JobContext,
    invoke: Callable[[], Result | None],
    judge: Callable[[Result | None], Verdict],
    *,
    abandon: Abandon | None,
    limit: timedelta,
    later: bool = False,
) -> Settled | Owed:
    """Run, then settle together with ``Done.record``. What the handler raises passes through.

    ``later``: answer what is owed instead of settling, where there is nothing to record.

    The work was done outside the database, so its completion is not given up for a database that is away
    or full, or a row that is busy: ``Unstored`` carries what is owed.
    """
    nested = connections[job.using].in_atomic_block
    answer = invoke()
    if not nested and is_left_open(job.using):
        raise TransactionLeftOpen("a detached handler ends every transaction that it begins")
    record = answer.record if isinstance(answer, Done) else None
    owed = Owed(job.claimed, judge(answer), job.using, abandon, record)
    if later and record is None:
        return owed
    try:
        return store(owed, patience=conf().settle_grace)
    except LeaseLost:
        raise
    except Unsettled as why:
        raise Unstored(owed) from why
    except DatabaseError as raised:
        if is_connection_loss(raised, job.using):
            raise Unstored(_in_doubt(owed)) from raised
        raise


def _in_doubt(owed: Owed) -> Owed:
    return Owed(owed.claimed, owed.verdict, owed.using, owed.abandon, owed.record, in_doubt=True)
