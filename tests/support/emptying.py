"""The end of a test that commits: the tables that it wrote to are emptied, and the others left alone.

Django's own flush truncates every table and makes content types and permissions anew, which takes several times as
long as most tests do.
"""

from typing import Any

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.test import TransactionTestCase

# A table without a page has not been written to since it was made or emptied, not even by what was rolled back.
WRITTEN = """
    SELECT format('%%I', name) FROM unnest(%s::text[]) AS name
    WHERE to_regclass(format('%%I', name)) IS NOT NULL AND pg_relation_size(format('%%I', name)::regclass) > 0
"""
KEPT = (ContentType._meta.db_table, Permission._meta.db_table)


class Emptying:
    """Made on the fresh database, whose content types and permissions are kept."""

    flush = TransactionTestCase._fixture_teardown

    def __init__(self) -> None:
        self._kept = _kept()
        found = connection.introspection.django_table_names(only_existing=True, include_views=False)
        self._tables = sorted(set(found) - set(KEPT))

    def after(self, test: TransactionTestCase) -> None:
        """Takes the place of ``TransactionTestCase._fixture_teardown``, and calls it where it cannot."""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(WRITTEN, [self._tables])
            written = [name for (name,) in cursor.fetchall()]
            if written:
                cursor.execute(f"TRUNCATE {', '.join(written)} CASCADE")
        if test.reset_sequences or _kept() != self._kept:
            Emptying.flush(test)
            self._kept = _kept()


def _kept() -> list[Any]:
    """A digest of each table that is kept."""
    digests = [
        f"SELECT md5(string_agg(kept::text, ' ' ORDER BY id)) FROM {table} AS kept"
        for table in KEPT
    ]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(digests))
        return list(cursor.fetchall())
