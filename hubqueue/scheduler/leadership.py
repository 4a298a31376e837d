"""Leadership: a session advisory lock that lives and dies with one connection."""

import hashlib
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from math import inf
from time import monotonic

import psycopg

from hubqueue.direct import Raw, is_pooled, open_session, sever
from hubqueue.models import Job
from hubqueue.scheduler.sessions import APPLICATION, SET, Deadline, limits, milliseconds

SHORTEST_IDLE = timedelta(seconds=1)
# An answer of the session holds for so long: the server ends no session of ours that spoke within a tick.
FRESH = 0.5


class Standing(StrEnum):
    """How this process stands at one moment."""

    LEADING = "leading"
    FOLLOWING = "following"
    BEHIND = "schema_behind"
    POOLED = "pooled"
    READ_ONLY = "read_only"


def lock_key() -> int:
    """The key of the lock: the same in every process that works on these tables, in this database."""
    name = f"hubqueue.scheduler:{Job._meta.db_table}".encode()
    return int.from_bytes(hashlib.sha256(name).digest()[:8], signed=True)


class Leadership:
    """The claim of one process to lead. Safe to use from several threads.

    The leader lets its session be silent for no longer than half a ``tick``; the server ends one that was for a
    whole ``tick`` (1 s at least). So a leader that is stopped, frozen or cut off loses the lock like one that died.
    """

    def __init__(
        self, *, tick: timedelta, deadline: timedelta, may_lead: Callable[[], bool]
    ) -> None:
        self._idle = max(tick, SHORTEST_IDLE)
        self._deadline = deadline
        self._may_lead = may_lead
        self._key = lock_key()
        self._session: Raw | None = None
        self._leading = False
        self._heard_at = -inf
        self.term = 0
        self._mutex = threading.RLock()
        self._ended = threading.Event()
        self._pinger = threading.Thread(target=self._ping, name="leadership", daemon=True)
        self._pinger.start()

    def stand(self) -> Standing:
        """Confirm the lock, or try to take it, over the session itself.

        ``term`` counts how often it was taken. Raises ``psycopg.Error`` when PostgreSQL cannot be reached or
        does not answer in time; the session is gone then, and so is the lock.
        """
        return self._ask(take=True)

    def confirm(self) -> bool:
        """Whether the lock is still held. Never takes it; raises as ``stand`` does.

        What the session answered half a second ago is believed.
        """
        if self._leading and monotonic() - self._heard_at < FRESH:
            return True
        return self._ask(take=False) is Standing.LEADING

    def close(self) -> None:
        """Let go of the lock, at once. Does not wait for a statement that is under way."""
        self._ended.set()
        sever(self._session)
        if self._mutex.acquire(timeout=0.2):
            self._drop()
            self._mutex.release()

    def _ask(self, *, take: bool) -> Standing:
        with self._mutex:
            if not take and not self._leading:
                return Standing.FOLLOWING
            try:
                standing = self._question(take=take)
            except BaseException:
                self._drop()
                raise
            if standing in (Standing.POOLED, Standing.READ_ONLY):
                self._drop()
            self._leading = standing is Standing.LEADING
            self._heard_at = monotonic()
            return standing

    def _question(self, *, take: bool) -> Standing:
        session = self._session
        if session is None or session.closed:
            self._leading = False
            session = self._session = open_session(APPLICATION)
            with Deadline(session, self._deadline):
                if is_pooled(session):
                    return Standing.POOLED
                self._set(session, limits(self._deadline))
        with Deadline(session, self._deadline):
            read_only, holds = _fetch(session, CONFIRM, {"key": self._key})
        if read_only:
            return Standing.READ_ONLY
        if holds:
            return Standing.LEADING
        if not take:
            return Standing.FOLLOWING
        return self._take(session) if self._may_lead() else Standing.BEHIND

    def _take(self, session: Raw) -> Standing:
        with Deadline(session, self._deadline):
            (taken,) = _fetch(session, "SELECT pg_try_advisory_lock(%(key)s)", {"key": self._key})
            if not taken:
                return Standing.FOLLOWING
            self._set(session, {"idle_session_timeout": milliseconds(self._idle)})
        self.term += 1
        return Standing.LEADING

    def _set(self, session: Raw, settings: dict[str, str]) -> None:
        session.execute(SET, [list(settings), list(settings.values())])

    def _drop(self) -> None:
        session, self._session, self._leading = self._session, None, False
        if session is not None:
            with suppress(psycopg.Error):
                session.close()

    def _ping(self) -> None:
        most = self._idle.total_seconds() / 2
        pause = most
        while not self._ended.wait(pause):
            with self._mutex:
                silent = monotonic() - self._heard_at
                pause = most if silent >= most else most - silent
                if silent < most or not self._leading or self._session is None:
                    continue
                try:
                    with Deadline(self._session, self._deadline):
                        self._session.execute("SELECT 1")
                    self._heard_at = monotonic()
                except psycopg.Error:
                    self._drop()


CONFIRM = """
    SELECT
        pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean,
        EXISTS (
            SELECT FROM pg_locks
            WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted AND objsubid = 1
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND (classid::bigint << 32 | objid::bigint) = %(key)s
        )
"""


def _fetch(session: Raw, statement: str, bound: dict[str, int]) -> tuple[bool | int, ...]:
    row = session.execute(statement.encode(), bound).fetchone()
    assert row is not None
    return row
