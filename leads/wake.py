"""Waking the pass, after the commit that armed an event."""

from django.db import router, transaction
from django.db.models import Q

from hubqueue.models import Job
from hubqueue.querysets import Now
from hubqueue.states import State
from leads.generate_handler import KEY, generate


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
    waits = Q(state=State.READY) & (Q(run_at__lte=Now()) | Q(attempts__gt=0))
    comes_again = Q(state=State.RUNNING, rerun_at__lte=Now())
    return (
        Job.objects.using(router.db_for_write(Job))
        .unfinished_with_key(generate.kind, KEY)
        .filter(waits | comes_again | Q(state=State.PARKED))
        .exists()
    )
