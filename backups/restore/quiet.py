"""A restored installation tells nobody and runs nothing old until an officer says so."""

from collections.abc import Iterable

from django.db.backends.base.base import BaseDatabaseWrapper

from backups.data.tables import Table


def quiet(connection: BaseDatabaseWrapper, restored: Iterable[Table], rows: str = "TRUE") -> None:
    """Do to the rows of these tables what their applications declare, in the caller's transaction. No signal is sent.

    ``rows`` is SQL without parameters that holds for the rows that were restored: by default all of each table.
    """
    with connection.cursor() as cursor:
        for table in restored:
            for each in table.declared.quiet:
                cursor.execute(each.over(rows))
