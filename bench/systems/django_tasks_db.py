"""django-tasks-db: Django's tasks in the database, its command `db_worker`."""

import time
from typing import Any
from urllib.parse import urlsplit

import django
from django.conf import settings

from bench.starts import note
from bench.systems import DSN, EFFECT, SLEEP

address = urlsplit(DSN)
compatible = [] if django.VERSION >= (6, 0) else ["django_tasks"]
settings.configure(
    INSTALLED_APPS=[*compatible, "django_tasks_db"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": address.path.lstrip("/"),
            "HOST": address.hostname or "",
            "PORT": address.port or "",
            "USER": address.username or "",
            "PASSWORD": address.password or "",
            "CONN_MAX_AGE": None,
        }
    },
    TASKS={"default": {"BACKEND": "django_tasks_db.DatabaseBackend", "QUEUES": ["default"]}},
    USE_TZ=True,
    LOGGING_CONFIG=None,
)
django.setup()

if compatible:
    from django_tasks import task
else:
    from django.tasks import task

from django.core.management import call_command  # noqa: E402 - Django is set up by now
from django.db import connection, transaction  # noqa: E402


@task
def noop(number: int) -> None:
    note(number)


@task
def effect(number: int) -> None:
    note(number)
    with connection.cursor() as cursor:
        cursor.execute(EFFECT, [number])


@task
def sleep(number: int) -> None:
    note(number)
    time.sleep(SLEEP)


KINDS = {"noop": noop, "effect": effect, "sleep": sleep}


def facts() -> dict[str, Any]:
    table = "django_tasks_database_dbtaskresult"
    return {
        "tables": [table],
        "unfinished": f"SELECT count(*) FROM {table} WHERE status IN ('READY', 'RUNNING')",
        "slower": 10,
        "clone": {
            "table": table,
            "newest": "enqueued_at",
            "set": {"id": "gen_random_uuid()"},
            "later": {"run_after": "now() + interval '1 day'"},
            "finished": {"status": "'SUCCESSFUL'", "finished_at": "now()"},
        },
        "setting": "db_worker, one at a time and an interval of 1 s as it comes, persistent connection;"
        " claim, body and completion are three commits",
    }


def setup() -> None:
    call_command("migrate", verbosity=0)


def enqueue(kind: str, number: int) -> None:
    KINDS[kind].enqueue(number)


def load(kind: str, numbers: list[int]) -> None:
    """There is no bulk call, so this is to fill the table only."""
    with transaction.atomic():
        for number in numbers:
            enqueue(kind, number)


def worker(concurrency: int | None, processes: int) -> None:
    call_command("db_worker", verbosity=0, startup_delay=False)
