"""The lines of a table, those of some pages at a time: a message for each row costs the client more than the row."""

from django.db.backends.base.base import BaseDatabaseWrapper

from backups.data.tables import Table
from backups.data.text_form import lines_query

AT_ONCE = 8  # pages, usually of 8 KiB
# What a page holds has a bound where no value lies elsewhere. A table that inherits has pages of its own.
PAGES = """
SELECT pg_relation_size(pg_class.oid) / current_setting('block_size')::bigint
FROM pg_class JOIN pg_am ON pg_am.oid = relam
WHERE pg_class.oid = %s::regclass AND relkind = 'r' AND amname = 'heap' AND NOT relhassubclass
    AND (reltoastrelid = 0 OR pg_relation_size(reltoastrelid) = 0)
"""
# NULL where no row is in these pages.
TOGETHER = """
SELECT (SELECT string_agg(line, E'\\n') FROM ({lines}
    WHERE ctid >= ('(' || page || ',0)')::tid AND ctid < ('(' || page + {at_once} || ',0)')::tid) AS rows)
FROM generate_series(0, {pages} - 1, {at_once}) AS page
"""


def pages_query(connection: BaseDatabaseWrapper, table: Table) -> str | None:
    """The SELECT of the lines of all rows, one text for the rows of a few pages, in their order; without parameters.

    ``None`` for a table that is to be read row by row. Within a snapshot that locks the table, so that its pages stay.
    Raises ``TableRefused``.
    """
    with connection.cursor() as cursor:
        cursor.execute(PAGES, [connection.ops.quote_name(table.name)])
        found = cursor.fetchone()
    if found is None:
        return None
    lines, _ = lines_query(connection, table)
    return TOGETHER.format(lines=lines, pages=found[0], at_once=AT_ONCE)
