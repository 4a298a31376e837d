"""/healthz, /readyz and /metrics: who may ask, and what is answered when things are not well."""

import time
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings

from hubqueue import gauges, probes
from hubqueue.aside import Aside
from hubqueue.models import Worker
from hubqueue.querysets import database_now

pytestmark = pytest.mark.django_db(transaction=True)

PATHS = ["/healthz", "/readyz", "/metrics"]


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that gives no answer in time."""

    def silent(cursor: Any) -> Any:
        cursor.execute("SELECT pg_sleep(5)")

    for module, name in ((gauges, "current"), (probes, "_readiness")):
        monkeypatch.setattr(
            module, name, Aside(silent, patience=timedelta(seconds=0.2), keep=timedelta(seconds=1))
        )


def test_a_process_that_answers_is_healthy_whatever_the_database(
    client: Client, unreachable: None
) -> None:
    with CaptureQueriesContext(connection) as asked:
        answer = client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"state": "up"})
    assert not len(asked)


def test_ready_tells_how_many_workers_live(client: Client) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (
        200,
        {"state": "ready", "workers": 0, "served": False},
    )
    now = database_now("default")
    Worker.objects.create(
        id=uuid4(), host="h", pid=1, started_at=now, lease_until=now + timedelta(minutes=1)
    )
    probes._readiness.forget()
    assert client.get("/readyz").json()["workers"] == 1


def test_not_ready_without_a_database(client: Client, unreachable: None) -> None:
    started = time.monotonic()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"state": "database_unreachable"})
    assert time.monotonic() - started < 2


def test_not_ready_while_a_migration_is_missing(client: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM django_migrations WHERE app = 'hubqueue' AND name LIKE '0001%'"
            " RETURNING name"
        )
        (name,) = cursor.fetchone()
    try:
        answer = client.get("/readyz")
    finally:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO django_migrations (app, name, applied) VALUES ('hubqueue', %s, now())",
                [name],
            )
    assert answer.status_code == 503
    assert answer.json() == {"state": "schema_behind", "missing": [f"hubqueue.{name}"]}


@override_settings(HUBQUEUE_METRICS_TOKEN="right")
@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Bearer right", 200),
        ("bearer right", 200),
        ("Bearer wrong", 401),
        ("Bearer rightright", 401),
        ("Bearer ", 401),
        ("Bearer ünicode", 401),
        ("Basic right", 401),
        ("right", 401),
        ("", 401),
    ],
)
def test_metrics_ask_for_the_token(header: str, expected: int, client: Client) -> None:
    answer = client.get("/metrics", headers={"authorization": header} if header else {})
    assert answer.status_code == expected
    assert ("hubqueue_depth" in answer.content.decode()) == (expected == 200)


@override_settings(HUBQUEUE_METRICS_TOKEN="")
def test_without_a_token_no_token_opens_the_metrics(client: Client) -> None:
    for header in ("Bearer ", "Bearer", "Bearer None"):
        assert client.get("/metrics", headers={"authorization": header}).status_code == 401


@pytest.mark.parametrize(("staff", "expected"), [(True, 200), (False, 401)])
def test_metrics_are_shown_to_staff(staff: bool, expected: int, client: Client) -> None:
    client.force_login(User.objects.create_user("somebody", is_staff=staff))
    assert client.get("/metrics").status_code == expected


@override_settings(HUBQUEUE_METRICS_TOKEN="right")
def test_metrics_answer_without_a_database(client: Client, unreachable: None) -> None:
    started = time.monotonic()
    answer = client.get("/metrics", headers={"authorization": "Bearer right"})
    assert answer.status_code == 200
    assert "hubqueue_database_up 0.0" in answer.content.decode()
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options", "trace"])
def test_they_only_read(path: str, method: str, client: Client) -> None:
    answer = getattr(client, method)(path)
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", PATHS)
def test_they_are_never_cached(path: str, client: Client) -> None:
    for answer in (client.get(path), client.head(path), client.post(path)):
        assert "no-store" in answer.headers["Cache-Control"]
