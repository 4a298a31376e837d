"""Attempts that lose their connection each time: no server that restarts, but the work itself ends its session.

One such attempt says nothing about its job and is unspent. Many in a row do, if other sessions of the queue stood.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from hubqueue.lifecycle.database import connection
from hubqueue.lifecycle.failure import Broken, broken_by
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.sql import sql
from hubqueue.models import Failure
from hubqueue.querysets import database_now

CODE = "connection_lost"
IN_A_ROW = 6
WITHIN = timedelta(days=2)


def loss(raised: BaseException) -> Broken:
    """How the connection was lost: what the server said, and where."""
    return replace(broken_by(raised), code=CODE)


def lost_again(claimed: Claimed, *, using: str) -> bool:
    """Whether this attempt, which lost its connection, is the sixth in a row, within two days, while another session of
    the queue stood. Where a pooler hides them: no."""
    horizon = database_now(using) - WITHIN
    recent = Failure.objects.using(using).filter(job=claimed.id).order_by("-id")[: IN_A_ROW - 1]
    losses = [
        each.started_at
        for each in recent
        if (each.code, each.spent, each.attempt) == (CODE, False, claimed.attempts)
        and each.failed_at > horizon
        and each.started_at is not None
    ]
    return len(losses) == IN_A_ROW - 1 and others_stood(min(losses), using=using)


def others_stood(since: datetime, *, using: str) -> bool:
    """Whether a session of the queue has stood since then, and so the server."""
    with connection(using).cursor() as cursor:
        cursor.execute(sql("others_stood"), {"since": since})
        (found,) = cursor.fetchone()
    return bool(found)
