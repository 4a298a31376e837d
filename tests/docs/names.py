"""The names that exist: metrics, tables, functions, settings, variables, checks."""

import re
from dataclasses import fields
from functools import cache

from django.apps import apps
from django.db import connection
from prometheus_client import REGISTRY

from hubqueue import gauges
from hubqueue.conf import Conf
from hubqueue.scheduler import counters
from tests.conftest import CHECKOUT

SOURCES = ("accounts", "backups", "config", "hubqueue", "leads")


@cache
def source() -> str:
    """All code of the product in one string, with strings that go over two lines joined."""
    files = [CHECKOUT / "dev", CHECKOUT / "manage.py"]
    for name in SOURCES:
        files += sorted(each for each in (CHECKOUT / name).rglob("*.*") if _is_text(each.suffix))
    text = "\n".join(each.read_text() for each in files)
    return re.sub(r'"\s*\n\s*f?"', "", text)


def _is_text(suffix: str) -> bool:
    return suffix in {".py", ".sql", ".html"}


def metrics() -> set[str]:
    """Every name as a scrape shows it and a query needs it: counters end in ``_total``."""
    assert counters.LAG  # the scheduler's are registered too
    seen = gauges.Picture(tick_age=0.0)  # with a leader: without one a gauge is left out
    families = [*REGISTRY.collect(), *gauges._families(seen)]
    found = {"hubqueue_database_up"}
    for family in families:
        found.add(f"{family.name}_total" if family.type == "counter" else family.name)
        if family.type == "histogram":
            found.update(f"{family.name}_{end}" for end in ("bucket", "count", "sum"))
    return found


def database_names() -> set[str]:
    """Tables, indexes, constraints, functions and sequences of the database."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class UNION SELECT conname FROM pg_constraint"
            " UNION SELECT proname FROM pg_proc"
        )
        return {name for (name,) in cursor.fetchall()}


def permissions() -> set[str]:
    """The permissions of all models, by their bare names."""
    found = set()
    for model in apps.get_models():
        meta = model._meta
        found |= {f"{verb}_{meta.model_name}" for verb in meta.default_permissions}
        found |= {name for name, _ in meta.permissions}
    return found


def settings() -> set[str]:
    """The keys of ``HUBQUEUE``."""
    return {each.name.upper() for each in fields(Conf)}
