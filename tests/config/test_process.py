"""Processes and servers that tests start are the real ones, on the right database."""

import subprocess
import sys

import psycopg
import pytest
from django.db import connection

from tests.conftest import CHECKOUT
from tests.support import pgbouncer
from tests.support.pgbouncer import PgBouncer
from tests.support.postgres import Cluster
from tests.support.wait import until


def test_a_process_works_on_the_database_of_its_test(process_env: dict[str, str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE left_by_the_test (word text)")
        cursor.execute("INSERT INTO left_by_the_test VALUES ('seen')")
    try:
        code = (
            "from django.db import connection as c; k = c.cursor();"
            "k.execute('SELECT word, current_database() FROM left_by_the_test');"
            "print(*k.fetchone())"
        )
        done = subprocess.run(
            [sys.executable, "manage.py", "shell", "--no-imports", "-c", code],
            env=process_env,
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.split() == ["seen", connection.settings_dict["NAME"]], done.stderr
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE left_by_the_test")


@pytest.mark.django_db(transaction=True)
def test_the_wrappers_parameters_open_a_connection_of_ones_own() -> None:
    params = connection.get_connection_params()
    with psycopg.connect(**params, autocommit=True) as own:
        row = own.execute("SELECT current_database()").fetchone()
    assert row == (connection.settings_dict["NAME"],)


def test_waiting_ends_with_the_answer_or_with_what_was_waited_for() -> None:
    answers = iter([0, "", "there"])
    assert until(lambda: next(answers)) == "there"
    with pytest.raises(AssertionError, match="a guest did not come true"):
        until(lambda: None, timeout=0.05, message="a guest")


@pytest.mark.slow
def test_a_cluster_survives_a_crash_and_keeps_what_was_committed() -> None:
    with Cluster(tcp=True) as server:
        server.execute("CREATE TABLE kept (n int)")
        with psycopg.connect(server.url(), autocommit=True) as client:
            assert server.terminate_backends() == 1
            with pytest.raises(psycopg.OperationalError):
                client.execute("SELECT 1")
        server.restart("immediate")
        assert server.execute("SELECT count(*) FROM kept") == [(0,)]


@pytest.mark.slow
@pytest.mark.skipif(not pgbouncer.is_installed(), reason="PgBouncer is not installed")
def test_pgbouncer_hands_out_server_connections_per_transaction() -> None:
    with (
        Cluster() as server,
        PgBouncer(server.url(), pool_size=1) as bouncer,
        psycopg.connect(bouncer.plain_url(), autocommit=True, prepare_threshold=None) as one,
        psycopg.connect(bouncer.plain_url(), autocommit=True, prepare_threshold=None) as two,
    ):
        sql = "SELECT pg_backend_pid()"
        assert one.execute(sql).fetchone() == two.execute(sql).fetchone()
