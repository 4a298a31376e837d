"""A queue on another alias than the application's, with reads sent to a replica: it works where it lives."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.hub import PATIENT, Hub
from tests.support.postgres import Cluster
from tests.support.wait import until
from tests.support.workers import CHECKOUT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SETTINGS = """
import os

from django.urls import include, path

from tests.support.settings import *
from tests.support.settings import DATABASES, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "django.contrib.admin", "django.contrib.messages", "django.contrib.sessions"]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
ROOT_URLCONF = "routed"
DATABASES["queue"] = DATABASES["default"] | {"NAME": "queue"}
DATABASES["replica"] = DATABASES["queue"] | {
    "NAME": os.environ.get("REPLICA", "queue"),
    "OPTIONS": DATABASES["queue"]["OPTIONS"] | {"options": "-c default_transaction_read_only=on"},
}
DATABASE_ROUTERS = ["routed.Router"]


class Router:
    def db_for_read(self, model, **hints):
        return "replica" if model._meta.app_label == "hubqueue" else None

    def db_for_write(self, model, **hints):
        return "queue" if model._meta.app_label == "hubqueue" else None

    def allow_migrate(self, db, app_label, **hints):
        return (db == "queue") == (app_label == "hubqueue") and db != "replica"


def __getattr__(name):
    if name != "urlpatterns":
        raise AttributeError(name)
    from django.contrib import admin
    return [path("admin/", admin.site.urls), path("", include("hubqueue.urls"))]
"""

SCRIPT = """
from datetime import timedelta
from django.contrib.auth.models import Group, User
from django.db import connections, transaction
from django.test import Client
from hubqueue import officers
from hubqueue.models import Job
from tests.support.proof.handlers import long

with transaction.atomic(using="queue"):
    kept = long.enqueue(name="kept").id
    parked = long.enqueue(name="parked").id
    cancelled = long.enqueue(name="cancelled").id
officers.park(parked, actor="pat", reason="test")
officers.cancel(cancelled, actor="pat", reason="test")
officers.pause("tenant", "t1", actor="pat", reason="test")
client = Client()
client.force_login(User.objects.create_superuser("officer"))
for url in ("/admin/hubqueue/job/", f"/admin/hubqueue/job/{kept}/change/", "/admin/hubqueue/worker/",
            "/admin/hubqueue/pause/", "/admin/", f"/api/jobs/{kept}/", "/readyz", "/metrics"):
    answer = client.get(url, follow=True, headers={"host": "localhost"})
    print("page", url.replace(str(kept), "ID"), answer.status_code)
print("kept", kept)
"""


@pytest.fixture
def routed(private_hub: Any, tmp_path: Path) -> Iterator[Hub]:
    """The application's database, beside it the queue's, and an alias for reading that cannot write."""
    with Cluster() as postgres:
        queue = postgres.create_database("queue")
        hub = private_hub(queue, migrated=False)
        (tmp_path / "routed.py").write_text(SETTINGS)
        hub.env |= {
            "DATABASE_URL": postgres.url(),
            "DJANGO_SETTINGS_MODULE": "routed",
            "PYTHONPATH": f"{tmp_path}:{hub.env['PYTHONPATH']}",
        }
        for alias in ("default", "queue"):
            done = hub.manage("migrate", "-v0", "--database", alias)
            assert done.returncode == 0, done.stderr
        yield hub
        hub.close()
        hub.trees.clear()


def test_an_enqueue_that_is_not_in_the_application_s_transaction_is_warned_of(
    tmp_path: Path,
) -> None:
    (tmp_path / "routed.py").write_text(SETTINGS)
    hub = Hub("postgres:///nobody-connects", tmp_path)
    hub.env |= {"DJANGO_SETTINGS_MODULE": "routed", "PYTHONPATH": f"{tmp_path}:{CHECKOUT}"}
    said = hub.manage("check").stderr
    assert "hubqueue.W001" in said
    assert "an enqueue inside atomic() of 'default' is not rolled back with it" in said


def test_everything_it_does_is_done_on_the_alias_that_routers_give_for_writing(routed: Hub) -> None:
    done = routed.manage("shell", "-c", SCRIPT)
    assert done.returncode == 0, done.stderr
    pages = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("page")]
    assert {code for _, code in pages} == {"200"}, pages
    worker = routed.ready(
        "--scheduler", seconds={"TICK": 1}, REPLICA="away"
    )  # it asks no replica at all
    routed.said("kept-1")
    routed.let_go("kept-1")
    until(lambda: routed.states() == {"SUCCEEDED": 1, "PARKED": 1, "CANCELLED": 1}, timeout=PATIENT)
    until(
        lambda: routed.rows("SELECT 1 FROM hubqueue_duty WHERE succeeded_at IS NOT NULL"),
        timeout=PATIENT,
        message="a duty",
    )
    assert not routed.rows("SELECT name FROM hubqueue_duty WHERE error_code <> ''")
    assert "Traceback" not in worker.said()
    assert "failed" not in worker.said()
