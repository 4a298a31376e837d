"""The server: durability, vacuum, rights, room for connections, and who holds back vacuum."""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection

from hubqueue.doctor import (
    Finding,
    Patient,
    Severity,
    examine,
    locks,
    patient,
    room,
    schema,
    snapshots,
    storage,
)
from hubqueue.doctor import server as settings_of_server
from hubqueue.doctor.examine import PROBES
from hubqueue.registry import Registry
from tests.doctor.conftest import alone, found_by, pointed_at, role_setting, server_setting
from tests.support.postgres import Cluster
from tests.support.rows import make_job
from tests.support.wait import until

SECRET = "not-for-the-log"


def as_app(clinic: Cluster) -> Any:
    return pointed_at(clinic.url().replace(f"{clinic.user}@", "app@"))


def test_a_migrated_server_with_its_defaults_is_well(clinic: Cluster) -> None:
    for look in (
        settings_of_server.look, storage.look, schema.look, snapshots.look, room.look
    ):  # fmt: skip
        assert not found_by(look)
    with as_app(clinic):
        assert not found_by(schema.look)
        assert not found_by(settings_of_server.look)


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("full_page_writes", Severity.ERROR),
        ("autovacuum", Severity.ERROR),
        ("track_activities", Severity.WARNING),
        ("synchronous_commit", Severity.ERROR),
    ],
)
def test_what_is_switched_off_on_the_server_is_named(
    clinic: Cluster, name: str, severity: Severity
) -> None:
    given = role_setting if name == "synchronous_commit" else server_setting
    with given(clinic, name, "off"):
        found = found_by(settings_of_server.look)
    assert {each.severity for each in found.values()} == {severity}
    assert list(found) == [name]


def test_a_role_that_cannot_see_others_is_told(clinic: Cluster) -> None:
    clinic.execute("REVOKE pg_read_all_stats FROM app")
    try:
        with as_app(clinic):
            said = found_by(settings_of_server.look)["sessions_hidden"]
    finally:
        clinic.execute("GRANT pg_read_all_stats TO app")
    assert "GRANT pg_read_all_stats TO app" in said.advice


def test_a_migration_that_is_missing_is_an_error(clinic: Cluster) -> None:
    where = "app = 'leads' AND name = (SELECT max(name) FROM django_migrations WHERE app = 'leads')"
    clinic.execute(f"CREATE TABLE gone AS SELECT * FROM django_migrations WHERE {where}")
    clinic.execute(f"DELETE FROM django_migrations WHERE {where}")
    try:
        said = found_by(schema.look)["schema_behind"]
    finally:
        clinic.execute("INSERT INTO django_migrations SELECT * FROM gone")
        clinic.execute("DROP TABLE gone")
    assert "leads." in said.found
    assert said.severity is Severity.ERROR


def test_a_role_without_rights_is_an_error(clinic: Cluster) -> None:
    clinic.execute("REVOKE UPDATE ON hubqueue_job FROM app")
    try:
        with as_app(clinic):
            said = found_by(schema.look)["role_lacks_rights"]
    finally:
        clinic.execute("GRANT UPDATE ON hubqueue_job TO app")
    assert "no UPDATE on hubqueue_job" in said.found


def test_an_index_whose_build_failed_and_an_unlogged_table_are_errors(clinic: Cluster) -> None:
    make_job()
    make_job()
    with suppress(psycopg.errors.UniqueViolation):
        clinic.execute("CREATE UNIQUE INDEX CONCURRENTLY half_built ON hubqueue_job (kind)")
    clinic.execute("ALTER TABLE hubqueue_pause SET UNLOGGED")
    try:
        found = found_by(schema.look)
    finally:
        clinic.execute("DROP INDEX half_built")
        clinic.execute("ALTER TABLE hubqueue_pause SET LOGGED")
    assert sorted(found) == ["index_invalid", "table_unlogged"]
    assert "half_built" in found["index_invalid"].found


def test_a_table_that_is_vacuumed_never_or_late_is_named(clinic: Cluster) -> None:
    clinic.execute("ALTER TABLE hubqueue_job SET (autovacuum_enabled = false)")
    clinic.execute("ALTER TABLE hubqueue_job RESET (autovacuum_vacuum_threshold)")
    try:
        found = found_by(storage.look)
    finally:
        clinic.execute("ALTER TABLE hubqueue_job RESET (autovacuum_enabled)")
        clinic.execute(found["table_vacuumed_late"].advice)
    assert found["table_not_vacuumed"].severity is Severity.ERROR
    assert not found_by(storage.look)


def test_dead_rows_that_pile_up_are_told(clinic: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "DEAD", 0)
    # Its vacuum, late on a busy machine, must not come in between; this waits for one that is on.
    clinic.execute("ALTER TABLE hubqueue_job SET (autovacuum_enabled = false)")
    try:
        make_job()
        with connection.cursor() as cursor:
            for _ in range(3):
                cursor.execute("UPDATE hubqueue_job SET priority = priority + 1")
            cursor.execute("SELECT pg_stat_force_next_flush()")
        assert "dead_rows" in found_by(storage.look)
    finally:
        clinic.execute("ALTER TABLE hubqueue_job RESET (autovacuum_enabled)")


def test_few_free_connections_are_a_warning_and_none_an_error(clinic: Cluster) -> None:
    need = room.connections_of(Patient(registry=Registry()), pooled=False)
    assert need == 14
    url = clinic.url().replace(f"{clinic.user}@", "app@")
    alone(clinic)
    with ExitStack() as stack:
        for _ in range(15):
            stack.enter_context(psycopg.connect(url))
        said = found_by(room.look, registry=Registry())["connections"]
        assert said.severity is Severity.WARNING
        assert not found_by(room.look, registry=Registry(), threads=1)
        with suppress(psycopg.OperationalError):
            while True:
                stack.enter_context(psycopg.connect(url))
        said = found_by(room.look, registry=Registry())["connections"]
    alone(clinic)
    assert said.severity is Severity.ERROR
    assert "of 27" in said.found
    assert "14 free connections" in said.expected


@pytest.mark.parametrize("what", ["ROLE app", "DATABASE hubqueue"])
def test_limits_of_the_role_and_the_database_count_too(clinic: Cluster, what: str) -> None:
    clinic.execute(f"ALTER {what} CONNECTION LIMIT 5")
    try:
        with as_app(clinic):
            said = found_by(room.look, registry=Registry())["connections"]
    finally:
        clinic.execute(f"ALTER {what} CONNECTION LIMIT -1")
    assert what.split()[0].lower() in said.found
    assert f"ALTER {what} CONNECTION LIMIT" in said.advice


def test_a_held_snapshot_is_told_by_its_session_and_never_by_its_statement(
    clinic: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "OLD", snapshots.OLD * 0)
    assert not found_by(snapshots.look)
    with psycopg.connect(clinic.url(), application_name="night report\n") as holder:
        holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holder.execute(f"SELECT '{SECRET}'".encode())
        said = found_by(snapshots.look)["old_transaction"]
        pid = holder.info.backend_pid
    assert f"pid {pid} night report" in said.found
    assert "idle in transaction" in said.found
    assert f"pg_terminate_backend({pid})" in said.advice
    assert SECRET not in said.line()
    assert "\n" not in said.line()


def test_who_holds_up_others_is_told_and_a_locked_table_crashes_nothing(
    clinic: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "PATIENCE", locks.PATIENCE * 0)
    assert not found_by(locks.look)
    with (
        psycopg.connect(clinic.url(), application_name="by hand") as holder,
        ThreadPoolExecutor() as pool,
    ):
        holder.execute("LOCK TABLE hubqueue_job")
        pid = holder.info.backend_pid
        waits = [pool.submit(clinic.execute, "SELECT count(*) FROM hubqueue_job") for _ in range(2)]
        said = until(lambda: _two_wait(found_by(locks.look)), message="two sessions that wait")
        monkeypatch.setattr(patient, "STATEMENT", timedelta(seconds=0.1))
        shut = found_by(locks.look)["table_locked"]
        (missed,) = examine(Patient(), probes=[each for each in PROBES if each.name == "work"])
        holder.rollback()
        for each in waits:
            each.result(30)
    assert f"pid {pid} by hand (idle in transaction" in said.found
    assert f"pid {pid} by hand" in shut.found
    assert "shut hubqueue_job" in shut.found
    assert missed.code == "not_examined"
    assert "locked" in missed.found


def _two_wait(found: dict[str, Finding]) -> Finding | None:
    said = found.get("blocked")
    return said if said and "holds up 2" in said.found else None


def test_where_ages_are_hidden_a_snapshot_is_told_by_how_far_it_is_behind(
    clinic: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MANY", 1)
    clinic.execute("CREATE ROLE blind LOGIN")
    try:
        with psycopg.connect(clinic.url(), application_name="holder") as holder:
            holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            holder.execute("SELECT 1")
            for _ in range(3):
                clinic.execute("SELECT pg_current_xact_id()")
            with pointed_at(clinic.url().replace(f"{clinic.user}@", "blind@")):
                said = found_by(snapshots.look)["old_transaction"]
    finally:
        clinic.execute("DROP ROLE blind")
    assert "holder" in said.found
    assert re.search(r"[3-9] transactions old", said.found)


def test_a_prepared_transaction_and_a_slot_nobody_reads_are_told(
    clinic: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "PREPARED", snapshots.PREPARED * 0)
    monkeypatch.setattr(snapshots, "KEPT", 0)
    with psycopg.connect(clinic.url()) as session:
        session.execute("SELECT pg_current_xact_id()")
        session.execute("PREPARE TRANSACTION 'forgotten'")
        session.commit()
    clinic.execute("SELECT pg_create_physical_replication_slot('unread', true)")
    clinic.execute("SELECT pg_current_xact_id()")
    try:
        found = found_by(snapshots.look)
    finally:
        clinic.execute("ROLLBACK PREPARED 'forgotten'")
        clinic.execute("SELECT pg_drop_replication_slot('unread')")
    assert "forgotten of hubqueue" in found["prepared_transaction"].found
    assert "unread (nobody reads it)" in found["replication_slot"].found


def test_a_patient_knows_its_own_database(clinic: Cluster) -> None:
    with Patient().django() as cursor:
        cursor.execute("SELECT current_database()")
        assert cursor.fetchone() == (clinic.database,)
