"""Messages that came to their end are kept for a while, then removed with their attempts."""

from datetime import timedelta

from hubqueue.api import Done, JobContext, Repeat, Result, handler, periodic
from hubqueue.querysets import Now
from notifications.models import WebhookDelivery, WebhookMessage, WebhookSubscription
from notifications.webhooks.conf import conf
from notifications.webhooks.deliver_handler import QUEUE

BATCH = 1_000


@periodic(cron="41 3 * * *")
@handler("webhooks.retention", queue=QUEUE)
def retain(job: JobContext) -> Result:
    """Remove one batch of what ended longer ago than ``WEBHOOKS_RETENTION_DAYS``, and secrets that are no longer valid.

    Runs again while there is more.
    """
    WebhookSubscription.objects.filter(previous_until__lt=Now()).update(
        previous_secret="", previous_until=None
    )
    old = WebhookMessage.objects.filter(finished_at__lt=Now() - conf().retention)
    # Held, so that none is replayed meanwhile; one that is being replayed at this moment is passed over.
    held = old.order_by("finished_at").select_for_update(skip_locked=True)
    ids = list(held.values_list("pk", flat=True)[:BATCH])
    WebhookDelivery.objects.filter(message__in=ids).delete()
    WebhookMessage.objects.filter(pk__in=ids).delete()
    return Repeat(after=timedelta(0)) if len(ids) == BATCH else Done(result=len(ids))
