"""What is set on the role, the database or the connection, and cuts the engine or its handlers."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from psycopg import IsolationLevel

from config.embedded import binaries
from hubqueue.doctor import Severity, clock, isolation, timeouts, writable
from hubqueue.registry import Registry
from tests.doctor.conftest import ROLE, found_by, pointed_at, role_setting
from tests.support import handlers
from tests.support.pgbouncer import PgBouncer, is_installed
from tests.support.postgres import Cluster

KIND = handlers.typed.kind


@pytest.fixture
def known() -> Registry:
    """One transactional handler, with the default timeout of 20 s."""
    made = Registry()
    made.add_handler(handlers.typed)
    return made


@pytest.mark.parametrize("level", ["serializable", "repeatable read"])
def test_another_isolation_on_the_role_is_told(clinic: Cluster, level: str) -> None:
    assert not found_by(isolation.look)
    with role_setting(clinic, "default_transaction_isolation", level):
        said = found_by(isolation.look)["isolation"]
    assert said.severity is Severity.WARNING
    assert level in said.found
    assert f"ALTER ROLE {ROLE} RESET default_transaction_isolation" in said.advice


def test_another_isolation_on_the_database_is_told_from_one_on_the_role(clinic: Cluster) -> None:
    name = Cluster.database
    clinic.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    try:
        said = found_by(isolation.look)["isolation"]
    finally:
        clinic.execute(f"ALTER DATABASE {name} RESET default_transaction_isolation")
    assert f"ALTER DATABASE {name} RESET" in said.advice


def test_djangos_own_isolation_level_is_seen(clinic: Cluster) -> None:
    with pointed_at(clinic.url(), OPTIONS={"isolation_level": IsolationLevel.REPEATABLE_READ}):
        said = found_by(isolation.look)["isolation"]
    assert "repeatable read" in said.found
    assert "isolation_level" in said.advice


@pytest.mark.parametrize(
    ("name", "value", "severity"),
    [
        ("statement_timeout", "15s", Severity.WARNING),
        ("statement_timeout", "2s", Severity.ERROR),
        ("lock_timeout", "3s", Severity.WARNING),
        ("idle_session_timeout", "10s", Severity.WARNING),
    ],
)
def test_a_timeout_of_the_server_below_ours_is_named_with_the_kinds_it_cuts(
    clinic: Cluster, known: Registry, name: str, value: str, severity: Severity
) -> None:
    with role_setting(clinic, name, value):
        found = found_by(timeouts.look, registry=known)
    assert list(found) == [name]
    assert found[name].severity is severity
    assert name == "idle_session_timeout" or KIND in found[name].found
    assert f"ALTER ROLE {ROLE} RESET {name}" in found[name].advice


def test_timeouts_above_ours_are_well(clinic: Cluster, known: Registry) -> None:
    with ExitStack() as stack:
        for name in (*timeouts.ALWAYS, timeouts.IDLE):
            stack.enter_context(role_setting(clinic, name, "10min"))
        assert not found_by(timeouts.look, registry=known)


def test_what_workers_set_aside_themselves_is_no_finding(clinic: Cluster, known: Registry) -> None:
    with role_setting(clinic, "idle_in_transaction_session_timeout", "1s"):
        assert not found_by(timeouts.look, registry=known)


@pytest.mark.skipif(not is_installed(), reason="PgBouncer is not installed")
def test_behind_a_pooler_it_is_an_error(clinic: Cluster, known: Registry) -> None:
    name = "idle_in_transaction_session_timeout"
    with PgBouncer(clinic.url(tcp=True)) as bouncer, pointed_at(bouncer.url()):
        with role_setting(clinic, name, "5s"):
            found = found_by(timeouts.look, registry=known)
    assert list(found) == [name]
    assert found[name].severity is Severity.ERROR
    assert KIND in found[name].found
    assert "without end" in found[name].found


def test_a_timeout_that_the_client_sends_is_told_as_such(clinic: Cluster, known: Registry) -> None:
    options = {"options": "-c statement_timeout=1000"}
    with pointed_at(clinic.url(), OPTIONS=options):
        said = found_by(timeouts.look, registry=known)["statement_timeout"]
    assert "sent by the client" in said.found
    assert "OPTIONS" in said.advice


def test_transactions_that_only_read_are_an_error(clinic: Cluster) -> None:
    assert not found_by(writable.look)
    with role_setting(clinic, "default_transaction_read_only", "on"):
        said = found_by(writable.look)["read_only"]
    assert said.severity is Severity.ERROR
    assert "ALTER ROLE" in said.advice


@pytest.mark.parametrize("hours", [1, -1])
def test_a_skewed_clock_of_this_machine_is_told_and_called_harmless(
    clinic: Cluster, hours: int
) -> None:
    def clock_of_this_machine() -> datetime:
        return datetime.now(UTC) + timedelta(hours=hours)

    said = found_by(clock.look, clock=clock_of_this_machine)["clock_skew"]
    assert said.severity is Severity.WARNING
    assert f"60 min {'ahead' if hours > 0 else 'behind'}" in said.found
    assert "not harmed" in said.found
    assert not found_by(clock.look)


def test_a_queue_whose_own_clock_is_moved_is_an_error(clinic: Cluster) -> None:
    with role_setting(clinic, "hubqueue.clock_offset", "3 hours"):
        said = found_by(clock.look)["clock_moved"]
    assert said.severity is Severity.ERROR
    assert "3 h ahead" in said.found


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A PostgreSQL that knows transaction_timeout."""
    programs = Path(binaries.find()).parent.parent / "pginstall18" / "bin"
    if not (programs / "postgres").exists() or not is_installed():
        pytest.skip("there is no PostgreSQL 17 or newer, or no PgBouncer")
    monkeypatch.setenv("HUBQUEUE_PG_BIN", str(programs))
    with Cluster(tcp=True) as made:
        yield made


@pytest.mark.slow
def test_a_transaction_timeout_below_ours_is_an_error_behind_a_pooler(
    newer: Cluster, known: Registry, django_db_blocker: Any
) -> None:
    with (
        django_db_blocker.unblock(),
        role_setting(newer, "transaction_timeout", "22s"),
        PgBouncer(newer.url()) as bouncer,
    ):
        with pointed_at(newer.url()):
            assert not found_by(timeouts.look, registry=known)
        with pointed_at(bouncer.url()):
            said = found_by(timeouts.look, registry=known)["transaction_timeout"]
    assert said.severity is Severity.ERROR
    assert "25 s" in said.expected
    assert KIND in said.found
