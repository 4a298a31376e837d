"""What monitoring asks over HTTP: is the process up, is the queue ready, and its metrics. Never cached."""

import hmac
import os
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.db.backends.utils import CursorWrapper
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache

from hubqueue import gauges
from hubqueue.aside import Aside, Unreachable

PATIENCE = timedelta(seconds=1)
View = Callable[..., HttpResponse]


def read_only(view: View) -> View:
    """GET and HEAD only, answered as JSON otherwise; nothing is cached anywhere."""

    @never_cache
    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method not in {"GET", "HEAD"}:
            return JsonResponse(
                {"error": "method_not_allowed"}, status=405, headers={"Allow": "GET, HEAD"}
            )
        return view(request, *args, **kwargs)

    return checked


@read_only
def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as this process answers. Asks no database."""
    return JsonResponse({"state": "up"})


@read_only
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when the database answers within a second and has every migration this code knows; else 503.

    ``workers`` is how many worker children are alive. None alive is told, and does not make the web unready.
    """
    try:
        missing, workers = _readiness.answer()
    except Unreachable:
        return JsonResponse({"state": "database_unreachable"}, status=503)
    if missing:
        return JsonResponse({"state": "schema_behind", "missing": missing}, status=503)
    return JsonResponse({"state": "ready", "workers": workers, "served": workers > 0})


def missing_migrations(cursor: CursorWrapper) -> list[str]:
    """The migrations that this code knows and the database lacks, as ``app.name``; "hubqueue" when it has none."""
    cursor.execute("SELECT to_regclass('django_migrations'), to_regclass('hubqueue_worker')")
    if None in cursor.fetchone():
        return ["hubqueue"]
    cursor.execute("SELECT app, name FROM django_migrations")
    return sorted(f"{app}.{name}" for app, name in _known() - set(cursor.fetchall()))


def _read_readiness(cursor: CursorWrapper) -> tuple[list[str], int]:
    missing = missing_migrations(cursor)
    if missing == ["hubqueue"]:
        return missing, 0
    cursor.execute("SELECT count(*) FROM hubqueue_worker WHERE lease_until > hubqueue_now()")
    return missing, cursor.fetchone()[0]


def _known() -> set[tuple[str, str]]:
    """The migrations on disk; what a squashed one replaces counts when either is applied."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    return {key for key in loader.graph.nodes if key[0] not in settings.MIGRATION_MODULES}


_readiness = Aside(_read_readiness, patience=PATIENCE, keep=timedelta(seconds=1))


@read_only
def metrics(request: HttpRequest) -> HttpResponse:
    """The metrics in Prometheus' text format, for staff and for the bearer of HUBQUEUE_METRICS_TOKEN."""
    if not _has_token(request):
        try:
            staff = _is_staff(request)
        except DatabaseError:
            return JsonResponse({"error": "database_unreachable"}, status=503)
        if not staff:
            return JsonResponse(
                {"error": "not_authenticated"},
                status=401,
                headers={"WWW-Authenticate": 'Bearer realm="metrics"'},
            )
    body, content_type = gauges.exposition(request.headers.get("Accept", ""))
    return HttpResponse(body, content_type=content_type)


def _has_token(request: HttpRequest) -> bool:
    expected = metrics_token()
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if not expected or scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(given.strip().encode(), expected.encode())


def metrics_token() -> str:
    """The setting ``HUBQUEUE_METRICS_TOKEN``, or the environment's; empty = no token opens /metrics."""
    return str(
        getattr(settings, "HUBQUEUE_METRICS_TOKEN", "")
        or os.environ.get("HUBQUEUE_METRICS_TOKEN", "")
    )


def _is_staff(request: HttpRequest) -> bool:
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return False
    user = request.user
    return bool(user.is_active and user.is_staff)
