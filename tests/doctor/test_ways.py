"""The ways to the database: refused, silent, pooled, read-only, or leading elsewhere. No password is ever said."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import psycopg
import pytest

from hubqueue.doctor import Patient, Severity, examine, listening, pooler, reach, writable
from hubqueue.doctor.finding import Finding
from tests.doctor.conftest import alone, found_by, hubqueue_settings, pointed_at
from tests.support.pgbouncer import PgBouncer, is_installed
from tests.support.postgres import Cluster
from tests.support.wait import until

UNREACHABLE = reach.UNREACHABLE
pgbouncer = pytest.mark.skipif(not is_installed(), reason="PgBouncer is not installed")


def examined() -> list[Finding]:
    return list(examine(Patient()))


def test_the_direct_way_of_a_plain_server_is_well(clinic: Cluster) -> None:
    for look in (reach.look, pooler.look, listening.look, writable.look):
        assert not found_by(look)


def test_a_server_that_is_not_there_is_one_finding_and_nothing_else_is_tried(
    django_db_blocker: Any,
) -> None:
    url = "postgres://app:hunter2@127.0.0.1:1/hubqueue"
    with django_db_blocker.unblock(), pointed_at(url):
        found = [each for each in examined() if each.code != "settings"]
    assert [each.code for each in found] == [UNREACHABLE]
    assert found[0].severity is Severity.ERROR
    assert "nothing listens" in found[0].found
    assert "app@127.0.0.1:1/hubqueue" in found[0].expected
    assert "hunter2" not in found[0].line()


@pytest.fixture
def locked(clinic: Cluster) -> Iterator[str]:
    """The URL of a role whose password is asked for, with a wrong one."""
    rules = clinic.data / "pg_hba.conf"
    before = rules.read_text()
    clinic.execute("CREATE ROLE locked LOGIN PASSWORD 'right'")
    rules.write_text(f"host all locked 127.0.0.1/32 scram-sha-256\n{before}")
    clinic.execute("SELECT pg_reload_conf()")
    url = clinic.url(tcp=True).replace(f"{clinic.user}@", "locked:hunter2@")

    def refused() -> bool:
        with suppress(psycopg.OperationalError), psycopg.connect(url):
            return False
        return True

    until(refused, message="the rule for passwords")
    yield url
    rules.write_text(before)
    clinic.execute("SELECT pg_reload_conf()")
    clinic.execute("DROP ROLE locked")


def test_a_wrong_password_is_told_and_not_printed(locked: str) -> None:
    with pointed_at(locked):
        said = found_by(reach.look)[UNREACHABLE]
    assert "password was refused" in said.found
    assert "hunter2" not in said.line()


@pytest.mark.parametrize(
    ("before", "after", "meaning"),
    [
        ("/hubqueue", "/elsewhere", "the database does not exist"),
        ("hubqueue@", "nobody_we_know@", "the role does not exist"),
        ("127.0.0.1", "nowhere.invalid", "leads nowhere"),
    ],
)
def test_a_wrong_address_is_told_in_words(
    clinic: Cluster, before: str, after: str, meaning: str
) -> None:
    head, _, tail = clinic.url(tcp=True).rpartition(before)
    with pointed_at(head + after + tail):
        assert meaning in found_by(reach.look)[UNREACHABLE].found


def test_a_server_that_takes_connections_and_stays_silent_is_unreachable(
    django_db_blocker: Any,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgres://app@127.0.0.1:{silent.getsockname()[1]}/hubqueue"
        with django_db_blocker.unblock(), pointed_at(url):
            (said,) = [each for each in examined() if each.code != "settings"]
    assert said.severity is Severity.ERROR
    assert "no answer in time" in said.found


def test_when_all_connections_are_taken_it_says_so(clinic: Cluster) -> None:
    url = clinic.url(tcp=True).replace(f"{clinic.user}@", "app@")
    with ExitStack() as stack:
        with suppress(psycopg.OperationalError):
            while True:
                stack.enter_context(psycopg.connect(url))
        with pointed_at(url):
            said = found_by(reach.look)[UNREACHABLE]
    alone(clinic)
    assert "connections are taken" in said.found
    assert "max_connections" in said.advice


def test_an_old_server_is_an_error(clinic: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "OLDEST", 99)
    assert found_by(reach.look)["server_too_old"].severity is Severity.ERROR


def test_another_engine_is_refused(django_db_blocker: Any, clinic: Cluster) -> None:
    with pointed_at(clinic.url(), ENGINE="django.db.backends.sqlite3", NAME=":memory:", OPTIONS={}):
        assert "PostgreSQL" in found_by(reach.look)[UNREACHABLE].expected


def test_a_direct_url_to_another_database_is_found_by_its_silence(
    clinic: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "WITHIN", 0.3)
    with hubqueue_settings(DIRECT_URL=clinic.url("postgres")):
        said = found_by(listening.look)["bell_not_heard"]
    assert said.severity is Severity.ERROR
    with hubqueue_settings(DIRECT_URL=clinic.url()):
        assert not found_by(listening.look)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgres://app:hunter2@127.0.0.1:1/hubqueue", "nothing listens"),
        ("postgres://app:hunter2@[broken", "cannot read"),
    ],
)
def test_a_direct_url_that_leads_nowhere_is_an_error(clinic: Cluster, url: str, words: str) -> None:
    with hubqueue_settings(DIRECT_URL=url):
        found = examined()
    said = next(each for each in found if each.code == "direct_unreachable")
    assert said.severity is Severity.ERROR
    assert words in said.found
    assert not [each for each in found if "hunter2" in each.line()]


def test_a_bell_queue_that_fills_up_is_named(
    clinic: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "TOO_FULL", 0)
    assert not found_by(listening.look)
    with psycopg.connect(clinic.url(), autocommit=True) as sleeper:
        sleeper.execute("LISTEN hubqueue_test")
        sleeper.execute("BEGIN")
        for _ in range(20):
            clinic.execute("SELECT pg_notify('hubqueue_test', repeat('x', 7000))")
        assert "bells_pile_up" in found_by(listening.look)
        sleeper.execute("ROLLBACK")


class Standby(Cluster):
    """Waits for what a standby never says: that its start is complete."""

    def _is_ready(self) -> bool:
        with suppress(psycopg.OperationalError):
            self.execute("SELECT 1")
            return True
        return False


@pytest.mark.slow
def test_a_standby_is_an_error_and_no_crash(django_db_blocker: Any) -> None:
    with Standby() as made:
        made.stop()
        (made.data / "standby.signal").touch()
        made.start()
        with django_db_blocker.unblock(), pointed_at(made.url()):
            found = {each.code: each for each in examined()}
    assert found["standby"].severity is Severity.ERROR
    assert "target_session_attrs" in found["standby"].advice
    # What else is wrong with that server is said all the same.
    assert found["fsync"].severity is Severity.ERROR
    assert "schema_missing" in found
    assert not {"work", "no_worker", "leader"} & found.keys()


@pgbouncer
def test_a_pooler_without_a_direct_url_is_an_error(clinic: Cluster) -> None:
    with PgBouncer(clinic.url(tcp=True)) as bouncer, pointed_at(bouncer.url()):
        found = found_by(pooler.look)
        assert not found_by(listening.look)
    assert list(found) == ["direct_url_missing"]
    assert "transaction mode" in found["direct_url_missing"].found


@pgbouncer
def test_a_pooler_with_a_direct_url_past_it_is_well(clinic: Cluster) -> None:
    with PgBouncer(clinic.url(tcp=True)) as bouncer, pointed_at(bouncer.url()):
        with hubqueue_settings(DIRECT_URL=clinic.url()):
            found = {each.code: each for each in examined()}
    for code in ("pooler", "listening", "connections"):
        assert found[code].severity is Severity.OK
    assert "a pooler in transaction mode" in found["pooler"].found
    # Of a worker only these go past the pooler: LISTEN of one child, and the scheduler's.
    assert "needs 4" in found["connections"].found


@pgbouncer
def test_a_direct_url_through_the_pooler_is_an_error(clinic: Cluster) -> None:
    with PgBouncer(clinic.url(tcp=True)) as bouncer:
        with hubqueue_settings(DIRECT_URL=bouncer.plain_url()):
            assert list(found_by(pooler.look)) == ["direct_url_pooled"]


@pgbouncer
def test_what_transaction_mode_cannot_keep_is_named_and_session_mode_can(clinic: Cluster) -> None:
    entry: dict[str, Any] = {
        "OPTIONS": {"prepare_threshold": 5},
        "DISABLE_SERVER_SIDE_CURSORS": False,
    }
    target = clinic.url(tcp=True)
    with hubqueue_settings(DIRECT_URL=target):
        with PgBouncer(target) as bouncer, pointed_at(bouncer.plain_url(), **entry):
            assert list(found_by(pooler.look)) == ["pooler_prepares", "pooler_cursors"]
        with PgBouncer(target, mode="session") as bouncer:
            with pointed_at(bouncer.plain_url(), **entry):
                assert not found_by(pooler.look)
        with PgBouncer(target, mode="statement") as bouncer:
            with pointed_at(bouncer.plain_url(), **entry):
                assert "pooler_mode" in found_by(pooler.look)
