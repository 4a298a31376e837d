"""The lead requests as JSON, for staff who may see them. Reading only."""

from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse

from hubqueue.probes import read_only
from leads.models import LeadArm, LeadRequest
from leads.models.requests import LeadRequestQuerySet

PAGE, LONGEST_PAGE = 50, 200
SWITCHES = {"true": True, "false": False}


class _Bad(Exception):
    """A parameter cannot be used; the message says what was expected."""


@read_only
def lead_requests(request: HttpRequest) -> HttpResponse:
    """``{"results": [...], "next": url or null}`` in the order of ids, 50 at a time, at most 200.

    Parameters: ``event`` (id), ``done``, ``parked``, ``error`` (true or false), ``limit``, ``after``.
    400 says what is wrong with one of them; 401, 403 and 405 as for the other one.
    """
    refusal = _refusal(request)
    if refusal is not None:
        return refusal
    try:
        limit = _limit(request.GET.get("limit"))
        rows = list(_chosen(request)[: limit + 1])
    except _Bad as bad:
        return JsonResponse({"error": "bad_parameter", "detail": str(bad)}, status=400)
    following = None
    if len(rows) > limit:
        rows = rows[:limit]
        kept = {name: value for name, value in request.GET.items() if name != "after"}
        query = urlencode({**kept, "after": str(rows[-1].pk)})
        following = request.build_absolute_uri(f"{reverse('leads-lead-requests')}?{query}")
    return JsonResponse({"results": [_described(row) for row in rows], "next": following})


@read_only
def lead_request(request: HttpRequest, request_id: UUID) -> HttpResponse:
    """One request: 200, 401 without a session, 403 without ``leads.view_leadrequest``, 404, 405."""
    refusal = _refusal(request)
    if refusal is not None:
        return refusal
    found = _rows().filter(pk=request_id).first()
    if found is None:
        return JsonResponse({"error": "no_such_lead_request"}, status=404)
    return JsonResponse(_described(found))


def _refusal(request: HttpRequest) -> HttpResponse | None:
    user = request.user
    if not user.is_authenticated:
        realm = {"WWW-Authenticate": 'Session realm="leads"'}
        return JsonResponse({"error": "not_authenticated"}, status=401, headers=realm)
    if not (user.is_active and user.is_staff and user.has_perm("leads.view_leadrequest")):
        return JsonResponse({"error": "not_permitted"}, status=403)
    return None


def _rows() -> LeadRequestQuerySet:
    armed = Exists(LeadArm.objects.filter(event_id=OuterRef("event_id")))
    return LeadRequest.objects.select_related("event").annotate(is_armed=armed)


def _chosen(request: HttpRequest) -> LeadRequestQuerySet:
    asked = request.GET
    rows = _rows().order_by("id")
    if "event" in asked:
        rows = rows.filter(event_id=_id("event", asked["event"]))
    if "after" in asked:
        rows = rows.filter(pk__gt=_id("after", asked["after"]))
    if "done" in asked:
        rows = rows.filter(done=_switch("done", asked["done"]))
    if "parked" in asked:
        rows = rows.filter(parked_at__isnull=not _switch("parked", asked["parked"]))
    if "error" in asked:
        failed = _switch("error", asked["error"])
        rows = rows.failed() if failed else rows.filter(error_detail="")
    return rows


def _switch(name: str, given: str) -> bool:
    if given not in SWITCHES:
        raise _Bad(f"{name} takes true or false.")
    return SWITCHES[given]


def _id(name: str, given: str) -> UUID:
    try:
        return UUID(given)
    except ValueError:
        raise _Bad(f"{name} takes an id (a UUID).") from None


def _limit(given: str | None) -> int:
    if given is None:
        return PAGE
    if not given.isascii() or not given.isdigit() or not 0 < int(given[:9]) <= LONGEST_PAGE:
        raise _Bad(f"limit takes a number from 1 to {LONGEST_PAGE}.")
    return int(given)


def _described(row: Any) -> dict[str, Any]:
    return {
        "id": str(row.pk),
        "event": {"id": str(row.event_id), "code": row.event.code, "name": row.event.name},
        "done": row.done,
        "armed": row.is_armed,
        "error_detail": row.error_detail or None,
        "failures": row.failures,
        "claimed_at": _moment(row.claimed_at),
        "claimed_by": row.claimed_by or None,
        "attempted_at": _moment(row.attempted_at),
        "next_attempt_at": _moment(row.next_attempt_at),
        "parked_at": _moment(row.parked_at),
        "park_reason": row.park_reason or None,
        "progress": row.progress,
        "created_at": _moment(row.created_at),
        "created_by": row.created_by or None,
        "updated_at": _moment(row.updated_at),
        "updated_by": row.updated_by or None,
    }


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
