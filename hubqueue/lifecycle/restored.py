"""A copy of a database must not go on with what the original was doing."""

from django.db import connections
from django.db.models import Q

from hubqueue.lifecycle.operate import enter
from hubqueue.lifecycle.sql import sql
from hubqueue.models import Job
from hubqueue.states import State


def set_aside() -> str:
    """SQL for the transaction that fills a database: every READY or RUNNING job is PARKED, ``restored``.

    What was parked before keeps its reason. Workers, leases and the leader of the original are forgotten. The
    statements take no parameters and answer no rows, so that ``psql`` can run them.
    """
    return sql("set_aside_restored")


def set_aside_tenant(tenant: str, *, but: str, actor: str, using: str) -> bool:
    """Park the tenant's READY jobs, ``restored``, and ask its RUNNING ones to stop, in the caller's transaction.

    Kinds that begin with ``but`` are left alone. Answers whether all are at rest: when not, attempts are still
    running or rows were locked, and the caller commits and comes again. Claims go on: pause the tenant before.
    """
    with connections[using].cursor() as cursor:
        cursor.execute(sql("set_aside_tenant"), {"tenant": tenant, "but": but})
        parked = cursor.fetchone()[0]
    if parked:
        target = f"{parked} unfinished jobs of the tenant {tenant}"
        enter("park", target, actor=actor, reason="restored", using=using)
    left = Job.objects.using(using).filter(
        Q(state=State.READY) | Q(state=State.RUNNING), tenant_id=tenant
    )
    return not left.exclude(kind__startswith=but).exists()
