"""Look for a text in every column of every table."""

from django.db import connection

_TABLES = """
SELECT format('%I.%I', n.nspname, c.relname), c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
"""


def tables_with(text: str) -> set[str]:
    """The tables of which a row holds the text, as text or as the bytes of it."""
    found = set()
    with connection.cursor() as cursor:
        cursor.execute(_TABLES)
        for quoted, name in cursor.fetchall():
            cursor.execute(
                f"SELECT EXISTS (SELECT FROM {quoted} AS t WHERE strpos(lower(t::text), lower(%s)) > 0"
                " OR strpos(t::text, %s) > 0)",
                [text, text.encode().hex()],
            )
            if cursor.fetchone()[0]:
                found.add(name)
    return found
