"""Attempts that lose their connection each time: no server that restarts, but the work itself ends its session.

One such attempt says nothing about its job and is unspent. Many in a row do, if other sessions of the queue stood.
"""

from datetime import datetime, timedelta

from hubqueue.lifecycle.database import connection
from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.sql import sql
from hubqueue.models import Failure
from hubqueue.querysets import Now

CODE = "connection_lost"
IN_A_ROW = 6
WITHIN = timedelta(days=2)


def lost_again(claimed: Claimed, *, using: str) -> bool:
    """Whether this attempt, which lost its connection, is the sixth in a row, within two days, while another session of
    the queue stood. Where a pooler hides them: no."""
    recent = Failure.objects.using(using).filter(job=claimed.id).order_by("-id")[: IN_A_ROW - 1]
    losses = [
        each.started_at
        for each in recent.annotate(horizon=Now() - WITHIN)
        if (each.code, each.spent, each.attempt) == (CODE, False, claimed.attempts)
        and each.failed_at > each.horizon
        and each.started_at is not None
    ]
    return len(losses) == IN_A_ROW - 1 and others_stood(min(losses), using=using)


def others_stood(since: datetime, *, using: str) -> bool:
    """Whether a session of the queue has stood since then, and so the server."""
    with connection(using).cursor() as cursor:
        cursor.execute(sql("others_stood"), {"since": since})
        (found,) = cursor.fetchone()
    return bool(found)
