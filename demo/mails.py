"""The demo's mails: something to be told of, and where what was told can be read."""

from datetime import timedelta
from pathlib import Path

from django.db import transaction
from django.db.models import F

from leads import officers
from leads.models import Event, LeadRequest
from leads.parked_handler import tell_later
from notifications.conf import conf
from notifications.mail_server import Directory, read_url
from notifications.models import Notification

CODE = "DEMO-13"
AGO = timedelta(hours=2)


def folder() -> Path | None:
    """The directory in which mails become files, or None where they do not."""
    if not conf().notifications_mail_url or not conf().notifications_from:
        return None
    place = read_url(conf().notifications_mail_url)
    return place.path if isinstance(place, Directory) else None


def sent_so_far() -> int:
    """How many mails were delivered."""
    return Notification.objects.filter(state=Notification.State.SENT).count()


@transaction.atomic
def park_one() -> None:
    """An event without guests whose request was parked two hours ago, so that the officers hear of it now."""
    event, new = Event.objects.get_or_create(
        code=CODE, tenant_id=None, defaults={"name": "Pottery Evenings 2027"}
    )
    if not new:
        return
    request = LeadRequest.objects.create(event=event, done=True, created_by="demo")
    reason = "Its project in the CRM is not there yet."
    officers.park(event.pk, actor="demo", reason=reason)
    LeadRequest.objects.filter(pk=request.pk).update(parked_at=F("parked_at") - AGO)
    request.refresh_from_db()
    assert request.parked_at is not None
    tell_later(request.pk, request.parked_at)
