"""Whether the database has every migration this code knows."""

from django.db import connections
from django.db.migrations.executor import MigrationExecutor


def missing_migrations(using: str) -> list[str]:
    """The names of migrations that are known here and not applied there, e.g. ``leads.0002_x``."""
    executor = MigrationExecutor(connections[using])
    targets = executor.loader.graph.leaf_nodes()
    return [f"{each.app_label}.{each.name}" for each, _ in executor.migration_plan(targets)]
