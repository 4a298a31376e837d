"""What was deleted, for the next incremental archive."""

from django.db import models


class Tombstone(models.Model):
    """A row that is gone, or (``key`` NULL) a table that the next archive must hold whole. Triggers write them.

    ``table`` is the name in the database; ``key`` the JSON object of the primary key's columns in text form, as in
    lines. The column ``xid`` (xid8, unknown to the ORM) is the transaction. A rollback takes it back with the deletion.
    """

    table = models.TextField()
    key = models.TextField(null=True)  # noqa: DJ001 - NULL is no key

    def __str__(self) -> str:
        return f"{self.table} {self.key or '(whole)'}"
