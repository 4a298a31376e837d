"""What every test may ask for."""

import os
from pathlib import Path

import pytest
from django.db import connection

from config.embedded import server

CHECKOUT = Path(__file__).resolve().parent.parent


@pytest.fixture
def process_env(transactional_db: None) -> dict[str, str]:
    """The environment for a process that works on this test's own database.

    `subprocess.Popen([sys.executable, "manage.py", "runworker"], env=process_env, cwd=CHECKOUT)`
    sees what the test committed and the other way round.
    """
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings.test",
        "DATABASE_URL": _url(),
        "PYTHONPATH": str(CHECKOUT),
        "PYTHONUNBUFFERED": "1",
    }


def _url() -> str:
    settings = connection.settings_dict
    if settings["ENGINE"] == "config.embedded":
        return server.dsn(settings["NAME"])
    return url(settings)


def url(settings: dict[str, object]) -> str:
    """The `DATABASE_URL` of these settings."""
    from urllib.parse import quote, urlencode

    options = {"host": settings["HOST"], "port": settings["PORT"]}
    credentials = quote(str(settings["USER"]), safe="")
    if settings["PASSWORD"]:
        credentials += ":" + quote(str(settings["PASSWORD"]), safe="")
    query = urlencode({key: value for key, value in options.items() if value})
    return f"postgres://{credentials}@/{quote(str(settings['NAME']), safe='')}?{query}"
