"""Settings take every usual form of a database URL, and refuse the rest in one sentence."""

import os
import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.database import database, direct_url
from tests.conftest import CHECKOUT
from tests.support.postgres import free_port

SECRET = "s3cret-word"


def test_without_a_url_the_embedded_database_is_used() -> None:
    assert database(None)["ENGINE"] == "config.embedded"


@pytest.mark.parametrize(
    ("url", "host", "port", "name"),
    [
        ("postgres://u:p@db.example:6000/jobs", "db.example", "6000", "jobs"),
        ("postgresql://u@/jobs?host=/run/postgresql", "/run/postgresql", "", "jobs"),
        ("postgres://u@//run/postgresql/jobs", "/run/postgresql", "", "jobs"),
        ("postgres:///jobs?host=/run/a%20b&port=6000", "/run/a b", "6000", "jobs"),
        ("postgres://u:p@a:1,b:2/jobs", "a,b", "1,2", "jobs"),
    ],
)
def test_host_and_port_are_where_django_and_pg_dump_look(
    url: str, host: str, port: str, name: str
) -> None:
    entry = database(url)
    assert (entry["HOST"], entry["PORT"], entry["NAME"]) == (host, port, name)
    assert "host" not in entry["OPTIONS"]


def test_other_parameters_reach_libpq_and_pool_never_arrives_as_a_word() -> None:
    options = database("postgres://u@h/jobs?pool=true&sslmode=require")["OPTIONS"]
    assert options == {"sslmode": "require"}


@pytest.mark.parametrize(
    ("url", "pooler"),
    [
        ("postgres://u@h/jobs?pgbouncer=transaction", None),
        ("postgres://u@h/jobs", "transaction"),
    ],
)
def test_behind_a_transaction_pooler_nothing_outlives_a_transaction(
    url: str, pooler: str | None
) -> None:
    entry = database(url, pooler=pooler)
    assert entry["OPTIONS"] == {"prepare_threshold": None}
    assert entry["DISABLE_SERVER_SIDE_CURSORS"] is True


def test_an_unknown_pooler_mode_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="'transaction', 'session' or nothing"):
        database("postgres://u@h/jobs", pooler="statement")


@pytest.mark.parametrize(
    "url",
    [
        f"nonsense-{SECRET}",
        f"postgres://u:{SECRET}@h:port/jobs",
        f"postgres://u:{SECRET}@h",
        f"postgres://u:{SECRET}@h/",
        f"mysql://u:{SECRET}@h/jobs",
        f"postgres://u:{SECRET}#x@h/jobs",
        f"postgres://u:{SECRET}/x@h/jobs",
        f"postgres://u:123/{SECRET}@h/jobs",
    ],
)
def test_a_malformed_url_is_one_sentence_without_the_password(url: str) -> None:
    for read, name in ((database, "DATABASE_URL"), (direct_url, "HUBQUEUE_DIRECT_URL")):
        with pytest.raises(ImproperlyConfigured) as refusal:
            read(url)
        said = str(refusal.value)
        assert said.startswith(name)
        assert "expected postgres://" in said
        assert SECRET not in said


def manage(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if key != "SECRET_KEY"}
    return subprocess.run(
        [sys.executable, "manage.py", *command],
        env=kept | {"DJANGO_SETTINGS_MODULE": "config.settings.development"} | env,
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert SECRET not in done.stderr
    return done.stderr


@pytest.mark.parametrize("command", [("check",), ("migrate",), ("runworker",), ("nonsense",)])
def test_a_command_with_a_malformed_url_ends_in_one_sentence(command: tuple[str]) -> None:
    said = one_sentence(manage(*command, DATABASE_URL=f"mysql://u:{SECRET}@h/jobs"))
    assert "DATABASE_URL" in said


def test_an_unreachable_database_is_named_without_the_password() -> None:
    port = free_port()
    url = f"postgres://u:{SECRET}@127.0.0.1:{port}/jobs"
    said = one_sentence(manage("showmigrations", DATABASE_URL=url))
    assert f"host 127.0.0.1, port {port}, database jobs" in said


def test_production_demands_a_secret() -> None:
    done = manage("check", DJANGO_SETTINGS_MODULE="config.settings.production")
    assert "SECRET_KEY must be set" in one_sentence(done)
    done = manage("check", DJANGO_SETTINGS_MODULE="config.settings.production", SECRET_KEY=SECRET)
    assert "SECRET_KEY must be set" in one_sentence(done)


def test_production_demands_the_address_that_links_lead_to() -> None:
    production = {
        "DJANGO_SETTINGS_MODULE": "config.settings.production",
        "SECRET_KEY": "-".join(str(number * 7919) for number in range(20)),
        "DATABASE_URL": "postgres://nobody:nothing@localhost/nowhere",
    }
    done = manage("check", **production, BASE_URL="")
    assert "(notifications.E001) NOTIFICATIONS_BASE_URL must be the http(s) address" in done.stderr
    done = manage("check", "--deploy", **production, BASE_URL="http://jobs.example")
    assert "(notifications.E003) NOTIFICATIONS_BASE_URL must start with https://" in done.stderr
