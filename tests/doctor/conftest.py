"""A server of our own that tests may spoil, and Django pointed at it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.test import override_settings

from config.database import database
from hubqueue.conf import conf
from hubqueue.doctor import Finding, Patient, Severity
from hubqueue.doctor.examine import Look
from hubqueue.models import Worker
from hubqueue.querysets import database_now
from hubqueue.registry import registry
from tests.support.postgres import Cluster
from tests.support.wait import until

TABLES = "hubqueue_job, hubqueue_failure, hubqueue_worker, hubqueue_pause, hubqueue_leader, hubqueue_duty"
ROLE = Cluster.user
PointAt = Callable[..., Any]


@contextmanager
def pointed_at(url: str, **entry: Any) -> Iterator[None]:
    """Django's default connection, in every thread, leads to ``url``; ``entry`` overrides DATABASES."""
    before, standing = connections.settings["default"], connections["default"]
    connections.settings["default"] = deepcopy(before) | {"USER": "", "PASSWORD": ""}
    connections.settings["default"] |= database(url) | entry
    del connections["default"]
    try:
        yield
    finally:
        connections["default"].close()
        connections.settings["default"] = before
        connections["default"] = standing


@contextmanager
def hubqueue_settings(**given: Any) -> Iterator[None]:
    """Keys of ``HUBQUEUE`` inside the block."""
    with override_settings(HUBQUEUE=settings.HUBQUEUE | given):
        conf.cache_clear()
        try:
            yield
        finally:
            conf.cache_clear()
    conf.cache_clear()


@pytest.fixture(scope="session")
def server(django_db_blocker: Any) -> Iterator[Cluster]:
    """A migrated server as it should be."""
    given = {
        "fsync": "on",
        "synchronous_commit": "on",
        "max_connections": "30",
        "max_prepared_transactions": "5",
        "wal_level": "logical",
    }
    with Cluster(tcp=True, settings=given) as made:
        with django_db_blocker.unblock(), pointed_at(made.url()):
            call_command("migrate", verbosity=0)
        made.execute("CREATE ROLE app LOGIN")
        made.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO app")
        made.execute("GRANT pg_read_all_stats TO app")
        yield made


@pytest.fixture
def clinic(server: Cluster, django_db_blocker: Any) -> Iterator[Cluster]:
    """Django works on that server; its rows are gone afterwards."""
    with django_db_blocker.unblock(), pointed_at(server.url()):
        yield server
        server.execute(f"TRUNCATE {TABLES} CASCADE")


@contextmanager
def role_setting(server: Cluster, name: str, value: str, role: str = ROLE) -> Iterator[None]:
    """``ALTER ROLE ... SET``, for every session that begins inside the block."""
    server.execute(f"ALTER ROLE {role} SET {name} = '{value}'")
    try:
        yield
    finally:
        server.execute(f"SET transaction_read_only = off; ALTER ROLE {role} RESET {name}")


@contextmanager
def server_setting(server: Cluster, name: str, value: str) -> Iterator[None]:
    """``ALTER SYSTEM SET``, in force when the block begins."""
    session = psycopg.connect(server.url(tcp=False), autocommit=True)
    with session:
        before = _in_force(session, name)
        session.execute(f"ALTER SYSTEM SET {name} = '{value}'".encode())
        _reload(session, name, value)
        try:
            yield
        finally:
            session.execute(f"ALTER SYSTEM RESET {name}".encode())
            _reload(session, name, before)


def _in_force(session: "psycopg.Connection[Any]", name: str) -> str:
    row = session.execute("SELECT current_setting(%s)", [name]).fetchone()
    assert row is not None
    return str(row[0])


def _reload(session: "psycopg.Connection[Any]", name: str, value: str) -> None:
    session.execute("SELECT pg_reload_conf()")
    until(lambda: _in_force(session, name) == value, message=f"{name} = {value}")


def alone(server: Cluster) -> None:
    """Wait until sessions that were closed are gone from the server."""
    asked = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    until(lambda: server.execute(asked) == [(1,)], message="the end of other sessions")


def found_by(look: Look, **patient: Any) -> dict[str, Finding]:
    """What one probe says that is not well, by code."""
    found = list(look(Patient(**patient)))
    return {each.code: each for each in found if each.severity is not Severity.OK}


@pytest.fixture
def make_worker(clinic: Cluster) -> Callable[..., Worker]:
    """A worker's row; alive for a minute, of all queues and kinds, unless told otherwise."""

    def make(lease: timedelta = timedelta(minutes=1), **values: Any) -> Worker:
        now = database_now("default")
        defaults = {
            "id": uuid4(),
            "host": "machine",
            "pid": 4711,
            "queues": list(conf().queues),
            "kinds": registry.kinds(),
            "started_at": now,
            "lease_until": now + lease,
        }
        return Worker.objects.create(**(defaults | values))

    return make
