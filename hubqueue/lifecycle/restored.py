"""A copy of a database must not go on with what the original was doing."""

from hubqueue.lifecycle.sql import sql


def set_aside() -> str:
    """SQL for the transaction that fills a database: every READY or RUNNING job is PARKED, ``restored``.

    What was parked before keeps its reason. Workers, leases and the leader of the original are forgotten. The
    statements take no parameters and answer no rows, so that ``psql`` can run them.
    """
    return sql("set_aside_restored")
