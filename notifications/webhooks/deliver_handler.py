"""One attempt to tell one subscription of one event. Each attempt is a job of its own."""

from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from hubqueue.api import Backoff, Done, Item, JobContext, MoveRefused, Result, Retry, handler
from hubqueue.models import Job
from notifications.errors import SealBroken
from notifications.models import WebhookMessage
from notifications.webhooks.begin import Flight, Full, begin
from notifications.webhooks.call import Ended, call
from notifications.webhooks.ending import write_down
from notifications.webhooks.messages import bury, locked
from notifications.webhooks.outcomes import Reason

QUEUE = "webhooks"
KEY_AWAITED = timedelta(minutes=10)


@handler(
    "webhooks.deliver",
    detached=True,
    queue=QUEUE,
    timeout=timedelta(minutes=2),
    backoff=Backoff(base=timedelta(seconds=10), cap=timedelta(minutes=10)),
)
def deliver(job: JobContext, *, message_id: UUID, ladder: int, attempt: int) -> Result:
    """Send the message once. At least once: a worker that dies in the middle leaves it to the next, same id.

    What the endpoint does is no failure of the job: the attempt is written down, and the job of the next one
    is enqueued at its moment, in the transaction that settles this. So jobs of this kind that wait for their
    moment are the messages that wait to be tried again.
    """
    try:
        with job.transaction():
            begun = begin(message_id, ladder, attempt, using=job.using)
    except SealBroken as broken:
        return Retry(after=KEY_AWAITED, code=broken.code, spend=False)
    match begun:
        case None:
            return Done()
        case Full(after=after):
            return Retry(after=after, code="endpoint_full", spend=False)
    return Done(record=partial(_record, begun, call(begun), job))


@deliver.on_abandon
def give_up(job: JobContext) -> None:
    """The job was cancelled, or failed for reasons of our own: nobody will send this message now."""
    given = job.claimed.payload
    message = WebhookMessage.objects.filter(
        pk=given["message_id"], ladder=given["ladder"], state=WebhookMessage.State.PENDING
    ).first()
    if message is not None and locked(message.subscription_id) is not None:
        bury(message, Reason.GIVEN_UP)


@deliver.on_redrive
def take_up(job: JobContext) -> None:
    """Nothing is taken up here: a message is replayed as a whole, with a ladder of attempts of its own."""
    given = job.claimed.payload
    pending = WebhookMessage.objects.filter(state=WebhookMessage.State.PENDING)
    if not pending.filter(pk=given["message_id"], ladder=given["ladder"]).exists():
        raise MoveRefused(
            "message_ended",
            "its message has ended: replay it from its own page, under Webhook messages.",
        )


def has_job(message: WebhookMessage) -> bool:
    """Whether an unfinished job is to send it. Right only while the caller holds the subscription's row."""
    key = _key(message.pk, message.ladder, message.attempts + 1)
    return Job.objects.unfinished_with_key(deliver.kind, key).exists()


def first_attempt(
    message_id: UUID, *, tenant: str | None, ladder: int, run_at: datetime | None = None
) -> Item:
    """The job that begins a ladder of attempts."""
    return _attempt(message_id, ladder, 1, tenant=tenant, run_at=run_at)


def _attempt(
    message_id: UUID, ladder: int, attempt: int, *, tenant: str | None, run_at: datetime | None
) -> Item:
    key = _key(message_id, ladder, attempt)
    return deliver.using(tenant=tenant, dedupe_key=key, run_at=run_at).item(
        message_id=message_id, ladder=ladder, attempt=attempt
    )


def _key(message_id: UUID, ladder: int, attempt: int) -> str:
    return f"{message_id}:{ladder}:{attempt}"


def _record(flight: Flight, ended: Ended, job: JobContext) -> None:
    moment = write_down(flight, ended, using=job.using)
    if moment is not None:
        following = _attempt(
            flight.message_id, flight.ladder, flight.attempt + 1, tenant=job.tenant, run_at=moment
        )
        deliver.enqueue_many([following])
