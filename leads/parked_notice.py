"""What the officers are told of a request that stands still."""

from datetime import datetime
from uuid import UUID

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from leads.models import LeadRequest
from leads.parked_handler import CATEGORY, standstill
from notifications.categories import Category, Subject
from notifications.models import Notification

SEES_ALL = ("leads.view_event", "leads.view_leadrequest")


def describe(notification: Notification) -> Subject | None:
    """The request as it stands now; None when it goes on, or stands still for another cause by now.

    The event and the reason are for those who may see events and requests; others learn that there is one.
    """
    request = LeadRequest.objects.select_related("event").filter(pk=notification.subject_id).first()
    still = None if request is None else standstill(request)
    if request is None or still is None or still.cause(request) != notification.cause_id:
        return None
    if not notification.recipient.has_perms(SEES_ALL):
        return Subject(
            {"parked": still.parked, "since": still.since}, _path(request.pk), withheld=True
        )
    return _subject(
        request.pk,
        event=str(request.event),
        parked=still.parked,
        since=still.since,
        reason=request.park_reason if still.parked else request.error_detail,
    )


def sample() -> Subject:
    return _subject(
        UUID(int=0),
        event="DEMO-04 Night Trains 2026",
        parked=True,
        since=timezone.now(),
        reason="The CRM moves this week.",
    )


def _subject(request_id: UUID, *, since: datetime, **values: object) -> Subject:
    return Subject({**values, "since": since}, _path(request_id))


def _path(request_id: UUID) -> str:
    return reverse("admin:leads_leadrequest_change", args=[request_id])


REQUEST_PARKED = Category(
    CATEGORY,
    _("An event whose leads have been standing still for an hour"),
    suppressible=True,
    describe=describe,
    sample=sample,
    withholds=True,
)
