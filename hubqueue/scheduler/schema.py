"""Whether the database has every migration of the queue that this code knows."""

from django.db.migrations.loader import MigrationLoader

from hubqueue.lifecycle.database import connection

APP = "hubqueue"


def is_behind(using: str) -> bool:
    """True while the database lacks a migration of the queue."""
    loader = MigrationLoader(connection(using))
    return any(leaf not in loader.applied_migrations for leaf in loader.graph.leaf_nodes(APP))
