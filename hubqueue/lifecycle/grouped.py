"""Several transactional attempts of one kind in one transaction, settled by one statement."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext

from django.db import DatabaseError, Error, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.pq import TransactionStatus

from hubqueue.errors import HubqueueError, Interrupted, LeaseLost
from hubqueue.lifecycle import settle as verdicts
from hubqueue.lifecycle.connections import begin, discard, is_connection_loss, may_commit
from hubqueue.lifecycle.guard import Attempted, fenced
from hubqueue.lifecycle.owed import Owed
from hubqueue.lifecycle.pipelined import pipelined
from hubqueue.lifecycle.run import Attempt, answer_of, interrupted, judge, lost_in_commit
from hubqueue.lifecycle.settle import Settled, Verdict, is_last_word, settle_within
from hubqueue.lifecycle.transactional import shield_hooks
from hubqueue.lifecycle.work import abandon_of

Call = Callable[[Callable[[], list[Verdict]]], list[Verdict]]


class Spoilt(HubqueueError):
    """A handler left the shared transaction broken without raising."""

    code = "spoilt"


def run_together(attempts: Sequence[Attempt], call: Call) -> list[Settled | Owed | None] | None:
    """Run the attempts one after the other in one transaction; ``call`` bounds their time together.

    Answers one outcome per attempt, as ``run`` does. None when anything at all went wrong: then everything
    was rolled back, no attempt is spent, and each is to be run by itself.
    """
    using = attempts[0].using
    begin(using)
    connection = connections[using]
    committing = committed = False
    before = len(connection.run_on_commit)

    def note() -> None:
        nonlocal committed
        committed = True

    try:
        with transaction.atomic(using=using):
            connection.on_commit(note)
            found = call(lambda: _verdicts(attempts, connection))
            committing = all(map(is_last_word, found)) and may_commit(connection)
            if not committing:
                with connection.cursor() as cursor:
                    cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            settled = settle_within(
                [
                    (attempt.claimed, verdict)
                    for attempt, verdict in zip(attempts, found, strict=True)
                ],
                using=using,
                abandon=abandon_of(attempts[0].work, using=using),
                commit=committing,
            )
            shield_hooks(connection, since=before + 1)
            committing = True
    except Interrupted as raised:
        discard(using)
        return (
            [interrupted(attempt) for attempt in attempts] if type(raised) is Interrupted else None
        )
    except DatabaseError as raised:
        lost = is_connection_loss(raised, using)
        if lost:
            discard(using)
        if lost and committing and not committed and not _never_arrived(attempts[0]):
            return [lost_in_commit(attempt, raised) for attempt in attempts]
        return None
    except BaseException:
        return None
    if not committed and not attempts[0].nested:
        return None
    return [*settled]


def _never_arrived(attempt: Attempt) -> bool:
    """Whether the COMMIT whose answer was lost did nothing: a job of the group is held by its attempt as before.

    False where that cannot be told. A member that ends the session at the COMMIT then loses a session of its own.
    """
    using = attempt.using
    try:
        begin(using)
        with transaction.atomic(using=using):
            fenced("hold", [Attempted(attempt.claimed.id, attempt.claimed.fence)], using=using)
    except (LeaseLost, Error):
        return False
    return True


def _verdicts(attempts: Sequence[Attempt], connection: BaseDatabaseWrapper) -> list[Verdict]:
    waiting = pipelined(connection) if attempts[0].work.pipeline else nullcontext()
    with waiting:
        return [_verdict(attempt, connection) for attempt in attempts]


def _verdict(attempt: Attempt, connection: BaseDatabaseWrapper) -> Verdict:
    if attempt.overdrawn:
        return verdicts.give_up_overdrawn()
    answer = answer_of(attempt)
    status = connection.connection.pgconn.transaction_status
    if connection.needs_rollback or status == TransactionStatus.INERROR:
        raise Spoilt("the handler swallowed a database error")
    return judge(attempt, answer)
