"""Tombstones that no archive can ask for any more."""

from django.db import connections, router

from backups.models import BackupRun, Tombstone

# One statement, so one view: a run that is not in it takes its snapshot later, and sees every deletion that goes here.
FORGET = """
DELETE FROM backups_tombstone
WHERE NOT EXISTS (SELECT FROM backups_backuprun WHERE state = %(running)s)
    AND NOT EXISTS (
        SELECT FROM backups_backuprun
        WHERE state = %(succeeded)s AND transactions <> ''
            AND NOT pg_visible_in_snapshot(xid, transactions::pg_snapshot))
"""


def forget() -> int:
    """Delete the tombstones that every archive which has not expired saw already, and answer how many.

    While a run is on nothing is deleted: its archive may become a parent. Without archives, all that is committed goes.
    """
    with connections[router.db_for_write(Tombstone)].cursor() as cursor:
        cursor.execute(
            FORGET, {"running": BackupRun.State.RUNNING, "succeeded": BackupRun.State.SUCCEEDED}
        )
        return int(cursor.rowcount)
