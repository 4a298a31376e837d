"""hubqueue: `runworker` on `bench/project`."""

import math
import os
import sys
from typing import Any

os.environ["DJANGO_SETTINGS_MODULE"] = "bench.project.settings"

import django

django.setup()

from django.apps import apps  # noqa: E402 - Django is set up by now
from django.core.management import call_command  # noqa: E402

from bench.project import handlers  # noqa: E402
from hubqueue import officers  # noqa: E402
from hubqueue.lifecycle import ring  # noqa: E402

QUIET_TIME = ring._quiet_time

# Ordered by time like the ids that the queue makes, and unique by the row's number.
ORDERED_ID = (
    "(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')"
    " || '7' || lpad(to_hex(g % 4096), 3, '0') || '8' || lpad(to_hex(g), 15, '0'))::uuid"
)


def facts() -> dict[str, Any]:
    return {
        "tables": [each._meta.db_table for each in apps.get_app_config("hubqueue").get_models()],
        "unfinished": "SELECT count(*) FROM hubqueue_job WHERE state IN ('READY', 'RUNNING')",
        "kinds": list(handlers.KINDS),
        "grows": True,
        "clone": {
            "table": "hubqueue_job",
            "newest": "id",
            "set": {"id": ORDERED_ID},
            "later": {"run_at": "now() + interval '1 day'"},
            "finished": {"state": "'SUCCEEDED'", "attempts": "1", "finished_at": "now()"},
        },
        "setting": "runworker, 4 threads; noop is transactional with group=100, effect by itself, effect-grouped with"
        " group=100, pipeline=True: its row and its completion are one commit",
    }


def setup() -> None:
    call_command("migrate", verbosity=0)


def enqueue(kind: str, number: int) -> None:
    handlers.KINDS[kind].enqueue(number=number)


def enqueue_many(kind: str, numbers: list[int]) -> None:
    made = handlers.KINDS[kind]
    made.enqueue_many(made.item(number=number) for number in numbers)


def silence(on: bool) -> None:
    """Let every ring fall into the quiet time after the last one, so that there is none, or no more."""
    ring._quiet_time = (lambda: math.inf) if on else QUIET_TIME


def pause(kind: str) -> None:
    """Pause a kind, as an officer does."""
    officers.pause("kind", handlers.KINDS[kind].kind, actor="bench", reason="measuring")


def worker(concurrency: int | None, processes: int) -> None:
    arguments = [f"--processes={processes}", f"--threads={concurrency or 4}"]
    if not os.environ.get("BENCH_WHOLE"):
        arguments.append("--no-scheduler")
    os.execv(sys.executable, [sys.executable, "-m", "django", "runworker", *arguments])
