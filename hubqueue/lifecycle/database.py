"""Where the queue's rows live: the alias that Django's routers give for ``Job``."""

from datetime import timedelta
from functools import lru_cache

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper

from hubqueue.models import Job


def alias() -> str:
    """The database alias that every write and every claim uses."""
    return router.db_for_write(Job)


def connection(using: str | None = None) -> BaseDatabaseWrapper:
    """This thread's connection to the queue's database."""
    return connections[using or alias()]


def interval(length: timedelta) -> str:
    """A duration as PostgreSQL reads it."""
    return f"{length.total_seconds()} seconds"


@lru_cache(maxsize=16)
def text_array(texts: tuple[str, ...]) -> bytes:
    """Texts as PostgreSQL reads a ``text[]``."""
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return ("{" + ",".join(f'"{text}"' for text in quoted) + "}").encode()
