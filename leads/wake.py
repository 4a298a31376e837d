"""Waking the pass, after the commit that armed an event."""

from django.db import connections, router, transaction

from hubqueue.models import Job
from leads.generate_handler import KEY, generate

# Asked after every registration.
_COMING = "SELECT leads_pass_is_coming(%s, %s)"


def wake_after_commit() -> None:
    """Wake the pass once the open transaction has committed; once per transaction, however often asked."""
    connection = transaction.get_connection(router.db_for_write(Job))
    # A note of a block that was rolled back is gone from the list, and every block that is still open
    # encloses this place too: whatever would take back a note that is there would take back this one.
    # (Asking for the same enclosing block keeps apart the "transactions" inside one of a test.)
    enclosing = set(connection.savepoint_ids[:-1])
    noted = any(
        function is wake and enclosing <= savepoints
        for savepoints, function, _ in reversed(connection.run_on_commit)
    )
    if not noted:
        transaction.on_commit(wake, using=connection.alias, robust=True)


def wake() -> None:
    """See to it that a pass starts after this moment.

    A pass that waits to start, or that will run again, is read and left alone: writing its row from
    every registration would queue them all behind one another.
    """
    if not _is_coming():
        generate.using(dedupe_key=KEY).enqueue()


def _is_coming() -> bool:
    """Whether a pass will start whose first look comes after what this connection has committed."""
    with connections[router.db_for_write(Job)].cursor() as cursor:
        cursor.execute(_COMING, [generate.kind, KEY])
        (coming,) = cursor.fetchone()
    return bool(coming)
