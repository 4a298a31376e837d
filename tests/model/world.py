"""The real thing behind the model: two connections to one database, its clock, and what its tables say."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self, TypeVar
from uuid import UUID

from django.db import connection, transaction
from django.db.backends.signals import connection_created

from hubqueue.lifecycle.connections import discard
from hubqueue.models import Job
from hubqueue.querysets import database_now
from hubqueue.testing.clock import SETTING
from tests.model.gone import SEEN
from tests.model.kinds import answers, let_go
from tests.support.rival import Rival
from tests.support.wait import until

T = TypeVar("T")

TABLES = ["failure", "operation", "pause", "worker", "job"]
EMPTY = "; ".join([*(f"DELETE FROM hubqueue_{name}" for name in TABLES), "DELETE FROM auth_group"])

REST = "SELECT " + ", ".join(
    f"(SELECT coalesce(json_agg(json_build_array({columns}) ORDER BY id), '[]')::text FROM hubqueue_{table})"
    for table, columns in (
        ("failure", "job_id, attempt, spent, code"),
        ("worker", "id, lease_until"),
        ("pause", "scope, value, until"),
        ("operation", "verb, target"),
    )
)


class World:
    """One database, this thread's connection, and a rival in a thread of its own."""

    def __enter__(self) -> Self:
        self.offset = timedelta(0)
        self._rival: Rival | None = None
        connection_created.connect(self._greet)
        connection.close()  # the next one is greeted
        self._rival = Rival().__enter__()
        return self

    def __exit__(self, *failure: object) -> None:
        try:
            self.rival.__exit__(*failure)
        finally:
            connection_created.disconnect(self._greet)
            discard("default")

    @property
    def rival(self) -> Rival:
        """Whoever works at the same time."""
        assert self._rival is not None
        return self._rival

    def reset(self) -> None:
        """Nothing has happened yet."""
        self.set_clock(timedelta(0))
        with connection.cursor() as cursor:
            cursor.execute(EMPTY)
        answers.clear()
        let_go.clear()

    def set_clock(self, offset: timedelta) -> None:
        """Move the queue's clock of both connections to ``offset`` from the server's."""
        self.offset = offset
        self._say_clock()
        self.rival.do(self._say_clock)

    def now(self) -> datetime:
        """What the clock says."""
        return database_now("default")

    def rows(self) -> list[dict[str, Any]]:
        """Every job's row, oldest id first."""
        return list(Job.objects.order_by("id").values())

    def rest(self) -> "Rest":
        """Everything else, in one round trip."""
        with connection.cursor() as cursor:
            cursor.execute(REST)
            failures, leases, pauses, entries = map(json.loads, cursor.fetchone())
        histories: dict[UUID, list[tuple[Any, ...]]] = {}
        for job_id, *failed in failures:
            histories.setdefault(UUID(job_id), []).append(tuple(failed))
        return Rest(
            histories,
            {UUID(worker): datetime.fromisoformat(lease) for worker, lease in leases},
            {(scope, value): end and datetime.fromisoformat(end) for scope, value, end in pauses},
            Counter(f"{verb} {target}" for verb, target in entries),
        )

    @contextmanager
    def transaction(self, *, commit: bool) -> Iterator[None]:
        """An open transaction of this thread's connection, committed or rolled back at the end."""
        with transaction.atomic():
            yield
            transaction.set_rollback(not commit)

    def meet(self, call: Callable[[], T]) -> "tuple[Future[T], bool]":
        """Let the rival begin; answers its future, and whether it waits for our open transaction."""
        future = self.rival.start(call)
        until(
            lambda: future.done() or self._waits_for_us(),
            interval=0.002,
            message="the rival's answer, or its wait for us",
        )
        return future, not future.done()

    def _waits_for_us(self) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid() = ANY (pg_blocking_pids(%s))", [self.rival.pid])
            (waits,) = cursor.fetchone()
        return bool(waits)

    def _say_clock(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config(%s, %s, false)",
                [SETTING, f"{self.offset.total_seconds()} seconds"],
            )

    def _greet(self, **_: Any) -> None:
        """A new connection has the clock of the others, and is the one session of the worker that is seen."""
        self._say_clock()
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('application_name', %s, false)", [f"hubqueue-{SEEN}"])


@dataclass(frozen=True, slots=True)
class Rest:
    """What the other tables say."""

    failures: dict[UUID, list[tuple[Any, ...]]]
    leases: dict[UUID, datetime]
    pauses: dict[tuple[str, str], datetime | None]
    entries: dict[str, int]
