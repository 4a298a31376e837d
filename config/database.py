"""Read `DATABASE_URL` into what Django wants, or refuse it in one sentence without the password."""

import warnings
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

SHAPE = "postgres://user:password@host:5432/name"
POSTGRESQL = "django.db.backends.postgresql"
EMBEDDED = "config.embedded"


def database(url: str | None, *, pooler: str | None = None) -> dict[str, Any]:
    """The entry of `DATABASES` for this URL; without a URL the embedded database.

    `?host=/directory` becomes HOST, so that `dbshell` and `pg_dump` see it too. The other
    parameters of the URL go to libpq as they are, except `pool` (Django's pool wants an object,
    not a word: leave it out) and `pgbouncer`, which means the same as the argument `pooler`:
    `transaction` keeps prepared statements and server-side cursors off.
    Raises `ImproperlyConfigured` for a URL that names no PostgreSQL database.
    """
    entry: dict[str, Any] = _parse(url) if url else {"ENGINE": EMBEDDED, "NAME": "hubqueue"}
    options: dict[str, Any] = dict(entry.get("OPTIONS", {}))
    if "host" in options:
        entry["HOST"] = options.pop("host")
    if "port" in options:
        entry["PORT"] = str(options.pop("port"))
    options.pop("pool", None)
    pooling = options.pop("pgbouncer", None) or pooler
    entry |= {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
    if _is_transaction(pooling):
        options["prepare_threshold"] = None
        entry["DISABLE_SERVER_SIDE_CURSORS"] = True
    entry["OPTIONS"] = options
    return entry


def direct_url(url: str | None) -> str | None:
    """The DSN for LISTEN and leadership, checked like `DATABASE_URL`; None when there is none."""
    if url:
        _parse(url, name="HUBQUEUE_DIRECT_URL")
    return url or None


def _parse(url: str, *, name: str = "DATABASE_URL") -> dict[str, Any]:
    try:
        parts = urlsplit(url)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            entry: dict[str, Any] = environ.Env.db_url_config(url)
    except ValueError:
        # The parser's own message may quote what stands between the colon and the host.
        raise _refusal(name, "a URL that cannot be split (port or brackets)") from None
    if parts.scheme not in {"postgres", "postgresql"}:
        given = f"the scheme {parts.scheme!r}" if "://" in url else "something without a scheme"
        raise _refusal(name, given)
    if parts.fragment or "@" in parts.path:
        # Read on, a piece of the password would become the name of the database.
        raise _refusal(name, "a '#', '/' or '@' that is not percent-encoded")
    if not entry.get("NAME"):
        raise _refusal(name, "no database name")
    entry["ENGINE"] = POSTGRESQL
    entry["PORT"] = str(entry["PORT"])
    return entry


def _refusal(name: str, given: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"{name} is not usable: expected {SHAPE}, got {given}; percent-encode special "
        "characters of the password."
    )


def _is_transaction(pooling: str | None) -> bool:
    if pooling in {None, "", "none", "session"}:
        return False
    if pooling == "transaction":
        return True
    raise ImproperlyConfigured(
        f"The pooler mode must be 'transaction', 'session' or nothing, got {pooling!r}; "
        "correct DATABASE_POOLER or the pgbouncer= parameter of DATABASE_URL."
    )
