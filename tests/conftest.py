"""What every test may ask for."""

import os
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import hypothesis
import pytest
from django.db import connection
from django.test import TransactionTestCase
from django.utils import translation

from config.embedded import locks, server
from config.embedded.home import own_directory
from tests.support.emptying import Emptying
from tests.support.side_by_side import (  # noqa: F401 - hooks
    pytest_collection_modifyitems,
    pytest_runtest_protocol,
    pytest_xdist_make_scheduler,
)

CHECKOUT = Path(__file__).resolve().parent.parent

# Who starts the tests in the background may have these ignored, and every process we start would inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

# How fast this machine is today is no promise.
hypothesis.settings.register_profile("hubqueue", deadline=None)
hypothesis.settings.load_profile("hubqueue")


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> Iterator[None]:
    """A test database of its own for every process that runs tests, so that no two in one checkout meet.

    The first is `test_hubqueue`, one beside it `test_hubqueue_2`. The number is held by a file
    lock, which a killed process lets go too; the next with that number drops what it left.
    """
    for number in count(1):
        lock = locks.open_lock(own_directory() / f"test-run-{number}")
        if locks.take(lock, wait=False):
            break
        os.close(lock)
    test = connection.settings_dict["TEST"]
    name = test["NAME"] or f"test_{connection.settings_dict['NAME']}"
    test["NAME"] = name if number == 1 else f"{name}_{number}"
    yield
    os.close(lock)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """A migrated database; what a test committed to it is taken away quickly."""
    with django_db_blocker.unblock():
        emptying = Emptying()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda test: emptying.after(test))
        yield


@pytest.fixture(autouse=True)
def usual_language() -> Iterator[None]:
    """A request leaves its language behind in its thread, which here is the next test's as well."""
    yield
    translation.deactivate()


@pytest.fixture
def process_env(transactional_db: None) -> dict[str, str]:
    """The environment for a process that works on this test's own database.

    `subprocess.Popen([sys.executable, "manage.py", "runworker"], env=process_env, cwd=CHECKOUT)`
    sees what the test committed and the other way round.
    """
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings.test",
        "DATABASE_URL": _url(connection.settings_dict),
        "PYTHONPATH": str(CHECKOUT),
        "PYTHONUNBUFFERED": "1",
    }


def _url(settings: dict[str, Any]) -> str:
    if settings["ENGINE"] == "config.embedded":
        return server.dsn(settings["NAME"])
    credentials = quote(settings["USER"], safe="")
    if settings["PASSWORD"]:
        credentials += ":" + quote(settings["PASSWORD"], safe="")
    query = {"host": settings["HOST"], "port": settings["PORT"]}
    if settings.get("DISABLE_SERVER_SIDE_CURSORS"):
        query["pgbouncer"] = "transaction"
    given = urlencode({key: value for key, value in query.items() if value})
    return f"postgres://{credentials}@/{quote(settings['NAME'], safe='')}?{given}"
