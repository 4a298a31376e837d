"""The duty of the leading scheduler that publishes how many messages wait to be tried again."""

from hubqueue.api import Cadence, duty
from hubqueue.models import Job
from notifications.webhooks.deliver_handler import QUEUE, deliver
from notifications.webhooks.metrics import BACKLOG

MOST_COUNTED = 100_000


def retry_backlog() -> int:
    """Jobs of ``webhooks.deliver`` that wait for the moment of a second or later attempt."""
    waiting = Job.objects.scheduled().filter(queue=QUEUE, kind=deliver.kind, payload__attempt__gt=1)
    return waiting.values("pk")[:MOST_COUNTED].count()


@duty("webhooks.backlog", cadence=Cadence.MINUTE)
def publish_backlog() -> None:
    """Set the gauge ``webhooks_retry_backlog``."""
    BACKLOG.set(retry_backlog())
