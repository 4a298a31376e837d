"""Step two: the job that sends one recorded message."""

from datetime import timedelta
from uuid import UUID

from hubqueue.api import Backoff, Done, JobContext, Result, handler
from notifications.models import Notification

MAIL_BACKOFF = Backoff(base=timedelta(seconds=30), cap=timedelta(hours=1))
MAIL_PATIENCE = timedelta(hours=24)


@handler(
    "notifications.deliver",
    detached=True,
    queue="mail",
    backoff=MAIL_BACKOFF,
    give_up_after=MAIL_PATIENCE,
)
def deliver(job: JobContext, *, notification_id: UUID) -> Result:
    """Send one message. Detached: no transaction stays open while a mail server thinks."""
    notification = Notification.objects.undelivered().filter(pk=notification_id).first()
    if notification is None:
        return Done()
    raise NotImplementedError
