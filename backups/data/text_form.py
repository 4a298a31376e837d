"""One row as one line: a JSON object of PostgreSQL's own text forms, made by the server.

Each value is a string in the form that the type's output function writes and its input function reads back exactly,
whatever the type: ``{"id" : "7", "price" : "1.50", "note" : null}``. NULL is ``null``.
"""

from collections.abc import Iterator
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import sql

from backups.data.tables import Table
from backups.errors import BackupError

# Text forms depend on these; both ends set the same.
SETTINGS = (
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL IntervalStyle = 'postgres'",
    "SET LOCAL TimeZone = 'UTC'",
    "SET LOCAL extra_float_digits = 3",
    "SET LOCAL bytea_output = 'hex'",
    "SET LOCAL lc_monetary = 'C'",
    "SET LOCAL xmloption = 'content'",
)

# A cast to text that is a function may write something else than the output function, as that of char(n), which strips.
COLUMNS = """
SELECT attname, typname NOT IN ('bool', 'inet', 'cidr') AND EXISTS (
    SELECT FROM pg_cast
    WHERE castsource = pg_type.oid AND casttarget = 'text'::regtype AND castmethod = 'f')
FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
"""


class TableRefused(BackupError):
    """The database's table is not what its model says."""

    code = "backups.table_refused"


def lines_query(
    connection: BaseDatabaseWrapper, table: Table, tenant: str | None = None
) -> tuple[str, tuple[Any, ...] | None]:
    """The SELECT of a table's lines, one text column, and its parameters; of one tenant's rows where one is given.

    Its ``line`` is the text that is exported and that checksums are of. Raises ``TableRefused``.
    """
    named = connection.ops.quote_name(table.name)
    with connection.cursor() as cursor:
        names = ", ".join(_literal(cursor, column) for column in table.columns)
        texts = ", ".join(_expressions(connection, cursor, table))
    # Not row_to_json(): it looks up the type of every column for every row.
    line = f"json_object(ARRAY[{names}], ARRAY[{texts}])::text"
    where, params = rows_condition(connection, table, tenant)
    if params is not None:
        line = line.replace("%", "%%")
    return f"SELECT {line} AS line FROM {named}{where}", params


def _expressions(connection: BaseDatabaseWrapper, cursor: Any, table: Table) -> Iterator[str]:
    quote = connection.ops.quote_name
    cursor.execute(COLUMNS, [quote(table.name)])
    odd_cast = dict(cursor.fetchall())
    for column in table.columns:
        if column not in odd_cast:
            raise TableRefused(f"{table.label} has no column {column} in the database: migrate.")
        name = quote(column)
        if column in table.declared.redact:
            yield _redacted(cursor, name, table.declared.redact[column])
        elif odd_cast[column]:
            yield f"CASE WHEN {name} IS NOT NULL THEN format('%s', {name}) END"
        else:
            yield f"{name}::text"


def _redacted(cursor: Any, name: str, instead: str | None) -> str:
    """What was NULL stays so."""
    if instead is None:
        return "NULL::text"
    return f"CASE WHEN {name} IS NOT NULL THEN {_literal(cursor, instead)} END"


def _literal(cursor: Any, text: str) -> str:
    return f"{sql.Literal(text).as_string(cursor.connection)}::text"


def rows_condition(
    connection: BaseDatabaseWrapper, table: Table, tenant: str | None
) -> tuple[str, tuple[Any, ...] | None]:
    """The WHERE of a tenant's rows and its parameters; ``None`` as parameters: the text is not to be interpolated."""
    if tenant is None:
        return "", None
    mine = table.rows_of(tenant)
    if mine is None:
        return " WHERE false", None
    if not mine:
        return "", None
    keys = [(field.attname, field.column or "") for field in table.model._meta.pk_fields]
    names = ", ".join(connection.ops.quote_name(column) for _, column in keys)
    wanted = table.model._base_manager.filter(mine).order_by()
    chosen = wanted.values_list(*(attribute for attribute, _ in keys))
    text, params = chosen.query.get_compiler(connection=connection).as_sql()
    return f" WHERE ({names}) IN ({text})", tuple(params)
