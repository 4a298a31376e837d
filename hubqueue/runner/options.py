"""What `runworker` was asked to do, checked against the settings before anything starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import connections

from hubqueue.checks import problems
from hubqueue.conf import Conf
from hubqueue.errors import HubqueueError
from hubqueue.lifecycle.database import alias
from hubqueue.registry import Registry

LONGEST_GRACE = 86_400.0
LAST_PORT = 65_535
POOL_MIN_SIZE = 4  # what psycopg_pool takes, and as max_size too, when nothing is said


class BadOptions(HubqueueError):
    """The worker cannot start as asked. The message is one sentence per problem."""

    code = "bad_options"


@dataclass(frozen=True, slots=True)
class Options:
    """``caps`` maps each served queue to how many of its jobs may run at once in this worker; 0 = all slots."""

    processes: int = 1
    threads: int = 4
    async_jobs: int = 100
    caps: dict[str, int] = field(default_factory=dict)
    grace: timedelta = timedelta(seconds=30)
    scheduler: bool = True
    until_idle: bool = False
    max_jobs: int = 0
    max_memory: int = 0
    metrics_port: int = 0

    def caps_of(self, child: int) -> dict[str, int]:
        """The share of one child (0 = no cap): caps are split so that their sum is what was asked for."""
        shares = {}
        for queue, cap in self.caps.items():
            share = cap // self.processes + (1 if child < cap % self.processes else 0)
            if share or not cap:
                shares[queue] = min(share, max(self.threads, self.async_jobs))
        return shares


def parse_queues(text: str, known: Sequence[str]) -> dict[str, int]:
    """``default,backups=1`` to a cap per queue (0 = no cap). Empty text = every known queue."""
    caps: dict[str, int] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, given, cap = part.partition("=")
        if name not in known:
            raise BadOptions(f"--queues: expected names out of {', '.join(known)}, got {name!r}.")
        if given and not (cap.isdigit() and int(cap) > 0):
            raise BadOptions(f"--queues: expected {name}=N with N above 0, got {part!r}.")
        caps[name] = int(cap) if given else 0
    return caps or dict.fromkeys(known, 0)


def parse_grace(seconds: float) -> timedelta:
    """``--grace`` as a duration. Refuses what is none: negative, endless, not a number."""
    if not 0 <= seconds <= LONGEST_GRACE:
        raise BadOptions(
            f"--grace: expected 0 to {LONGEST_GRACE:g} seconds, got {seconds:g}: choose how long jobs in flight may"
            " take to finish."
        )
    return timedelta(seconds=seconds)


def check_start(options: Options, current: Conf, registry: Registry) -> None:
    """Raise ``BadOptions`` with every contradiction between options, settings and handlers."""
    found = [text for _, text in problems(current, registry)]
    for name, value, least in (
        ("--processes", options.processes, 1),
        ("--threads", options.threads, 1),
        ("--async-jobs", options.async_jobs, 1),
        ("--max-jobs", options.max_jobs, 0),
        ("--max-memory", options.max_memory, 0),
    ):
        if value < least:
            found.append(f"{name}: expected at least {least}, got {value}.")
    if not 0 <= options.metrics_port <= LAST_PORT:
        found.append(f"--metrics-port: expected 1 to {LAST_PORT}, got {options.metrics_port}.")
    for_async = current.async_connections if registry.kinds(is_async=True) else 0
    found += pool_problems(connections.settings[alias()], options.threads, for_async)
    if found:
        raise BadOptions(" ".join(found))


def pool_problems(database: Mapping[str, Any], threads: int, for_async: int = 0) -> list[str]:
    """What does not fit about the pool in this entry of ``DATABASES``, a sentence each. ``for_async`` is how many
    connections the ``async def`` handlers of a child share."""
    pool = database.get("OPTIONS", {}).get("pool")
    if not pool:
        return []
    found = []
    given = pool if isinstance(pool, dict) else {}
    size = given.get("max_size") or given.get("min_size", POOL_MIN_SIZE)
    needed = threads + 3 + for_async
    if size < needed:
        beside = f" + ASYNC_CONNECTIONS ({for_async})" if for_async else ""
        found.append(
            f"The pool's max_size must be at least threads + 3{beside} = {needed}, got {size}:"
            " a smaller one runs dry while every thread works."
        )
    if database.get("CONN_MAX_AGE", 0) != 0:
        found.append(
            f"CONN_MAX_AGE must be 0 with a pool, got {database['CONN_MAX_AGE']}: the pool keeps the connections."
        )
    return found
