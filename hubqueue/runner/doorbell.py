"""Hear the doorbell: a LISTEN connection that proves itself, and is replaced when it falls silent."""

import logging
import random
from collections.abc import Sequence
from time import monotonic
from typing import Any

import psycopg
from psycopg import sql

from hubqueue.direct import is_pooled, open_session
from hubqueue.lifecycle.ring import CHANNEL

log = logging.getLogger(__name__)

PROVE_EVERY = 30.0
ANSWER_WITHIN = 5.0
RECONNECT_EVERY = 5.0


class Doorbell:
    """Listens for the bells of some queues. Without a listening connection the worker polls faster."""

    def __init__(self, queues: Sequence[str], name: str) -> None:
        self._channels = [CHANNEL + queue for queue in queues]
        self._own = CHANNEL + name
        self._name = name
        self._session: psycopg.Connection[Any] | None = None
        self._next_try = 0.0
        self._prove_at = 0.0
        self._asked_at: float | None = None
        self._said = False
        self._rung: set[str] = set()
        self.heard_at = monotonic()

    @property
    def listening(self) -> bool:
        return self._session is not None

    def fileno(self) -> int:
        """Of the connection, while ``listening``."""
        assert self._session is not None
        return self._session.fileno()

    def tend(self) -> bool:
        """Connect when due, prove the connection when due. True when it was just (re)connected: look at once."""
        now = monotonic()
        if self._session is None:
            return now >= self._next_try and self._connect(now)
        if self._asked_at is not None and now - self._asked_at > ANSWER_WITHIN:
            log.warning("doorbell: the connection fell silent, replacing it")
            self.close()
        elif self._asked_at is None and now >= self._prove_at:
            self._ring_own()
        return False

    def rang(self) -> set[str]:
        """The queues whose bells rang since the last look. Never blocks."""
        if self._session is not None:
            try:
                held = self._session.pgconn
                held.consume_input()
                while note := held.notifies():
                    self._hear(note.relname.decode())
            except (psycopg.Error, OSError):
                self.close()
        rung, self._rung = self._rung, set()
        return rung

    def _hear(self, channel: str) -> None:
        self.heard_at = monotonic()
        if channel == self._own:
            self._asked_at = None
            self._prove_at = self.heard_at + PROVE_EVERY
        else:
            self._rung.add(channel.removeprefix(CHANNEL))

    def close(self) -> None:
        """Let go of the connection; ``tend`` replaces it."""
        if self._session is not None:
            self._session.close()
        self._session = None
        self._asked_at = None
        self._next_try = monotonic() + random.random()

    def _connect(self, now: float) -> bool:
        self._next_try = now + RECONNECT_EVERY * (0.5 + random.random())
        try:
            session = open_session(self._name)
        except (psycopg.Error, OSError):
            return False
        try:
            if is_pooled(session):
                self._say_pooled()
                session.close()
                self._next_try = now + 600
                return False
            for channel in [*self._channels, self._own]:
                session.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        except (psycopg.Error, OSError):
            session.close()
            return False
        # What arrives together with the answer to a statement.
        session.add_notify_handler(lambda note: self._hear(note.channel))
        self._session = session
        self.heard_at = now
        self._prove_at = now + PROVE_EVERY
        return True

    def _ring_own(self) -> None:
        assert self._session is not None
        self._asked_at = monotonic()
        try:
            self._session.execute("SELECT pg_notify(%s, '')", [self._own])
        except (psycopg.Error, OSError):
            self.close()

    def _say_pooled(self) -> None:
        if not self._said:
            log.warning(
                "doorbell: the database is behind a pooler, so nothing can be listened to: polling instead."
                " Set HUBQUEUE['DIRECT_URL'] to a direct address for faster pickups."
            )
        self._said = True
