"""Telling the officers that an event makes no leads: its request is parked, or its walks fail, for an hour."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import models, router

from hubqueue.api import Done, JobContext, Repeat, Result, handler
from hubqueue.querysets import database_now
from leads.conf import conf
from leads.models import LeadRequest
from notifications.services import emit, notify

CATEGORY = "leads.request_parked"
RELEASE = "leads.release_leadrequest"
_PERMISSIONS = "django.contrib.auth.backends.ModelBackend"


@dataclass(frozen=True, slots=True)
class Standstill:
    """Since when a request makes no leads, and whether an officer wanted that."""

    since: datetime
    parked: bool

    def cause(self, request: LeadRequest) -> str:
        """The name of this standstill: another one of the same request has another."""
        return f"{CATEGORY}:{request.pk}:{self.since.isoformat()}"


def standstill(request: LeadRequest) -> Standstill | None:
    """How the request stands still, or None when it does not. An officer's park counts first."""
    if request.parked_at is not None:
        return Standstill(request.parked_at, parked=True)
    # A worker of an older version that ends the failures leaves the moment standing.
    if request.failures and request.failing_since is not None:
        return Standstill(request.failing_since, parked=False)
    return None


def tell_later(request_id: UUID, since: datetime) -> None:
    """Tell the officers when it still stands still after ``LEADS_PARKED_NOTICE``; in the open transaction."""
    tell_parked.using(dedupe_key=str(request_id), run_at=since + conf().parked_notice).enqueue(
        request_id=request_id
    )


@handler("leads.tell_parked", queue="leads")
def tell_parked(job: JobContext, *, request_id: UUID) -> Result:
    """Record a notice to each officer who could let the request go on, and emit it, once per standstill.

    There is one such job per request. What was enqueued for an earlier standstill meets the present one,
    and waits for its hour.
    """
    request = LeadRequest.objects.select_related("event").filter(pk=request_id).first()
    still = None if request is None else standstill(request)
    if request is None or still is None:
        return Done()
    due = still.since + conf().parked_notice
    if database_now(router.db_for_write(LeadRequest)) < due:
        return Repeat(at=due)
    _emit(request, still)
    told = notify(
        CATEGORY,
        _officers(),
        cause=still.cause(request),
        subject=request,
        tenant=request.event.tenant_id,
    )
    return Done(result={"told": len(told)})


def _emit(request: LeadRequest, still: Standstill) -> None:
    """The same for other systems: ids and the code, not what people wrote."""
    emit(
        CATEGORY,
        data={
            "request_id": str(request.pk),
            "event_id": str(request.event_id),
            "event_code": request.event.code,
            "parked": still.parked,
            "since": still.since.isoformat(),
        },
        subject=f"leads/{request.event_id}",
        tenant=request.event.tenant_id,
        cause=still.cause(request),
    )


def _officers() -> "models.QuerySet[Any]":
    """Active staff who may release a request, superusers among them."""
    users = get_user_model()._default_manager
    with_perm = users.with_perm(RELEASE, backend=_PERMISSIONS)
    return with_perm.filter(is_staff=True).order_by("pk")
