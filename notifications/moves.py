"""What becomes of a record after it was made, in the transaction of the caller. Only ``reopen`` takes finished ones."""

from functools import partial

from django.db import router, transaction
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils import timezone

from hubqueue.querysets import Now
from notifications.errors import RecordGone
from notifications.models import Notification
from notifications.reasons import Reason
from notifications.signals import delivery_ended

State = Notification.State


def begin(record: Notification) -> None:
    """An attempt: from here on the message may get through without our learning of it.

    Raises ``RecordGone`` when there is nothing to send any more: the account was deleted, say.
    """
    if not _update(record, sending_since=Now(), attempts=F("attempts") + 1):
        raise RecordGone("the record was deleted or finished meanwhile; nothing was sent.")
    record.sending_since = timezone.now()  # only that it is set counts in this process


def take_back(record: Notification, *, count: bool) -> None:
    """The attempt did certainly not get through. ``count`` it if it had not begun to send."""
    _update(record, sending_since=None, attempts=F("attempts") + (1 if count else 0))
    record.sending_since = None


def doubt(record: Notification) -> None:
    """The message may have arrived: that stays on the record whatever comes."""
    _update(
        record,
        state=State.UNCERTAIN,
        uncertain_since=Coalesce("uncertain_since", Now()),
        sending_since=None,
    )
    record.state, record.sending_since = State.UNCERTAIN, None


def end(
    record: Notification,
    state: Notification.State,
    reason: Reason | None = None,
    *,
    count: bool = False,
) -> None:
    """The record is finished. ``count`` = with an attempt that had not begun to send."""
    changed = _update(
        record,
        state=state,
        reason=reason or "",
        finished_at=Now(),
        sending_since=None,
        attempts=F("attempts") + (1 if count else 0),
    )
    if changed:
        tell = partial(
            delivery_ended.send_robust,
            sender=None,
            category=record.category,
            state=str(state),
            reason=str(reason or ""),
        )
        transaction.on_commit(tell, using=router.db_for_write(Notification), robust=True)


def reopen(record: Notification) -> None:
    """What was not sent is to be sent again, finished or not. That it may have arrived once stays on the record."""
    Notification.objects.filter(pk=record.pk).update(
        state=State.PENDING,
        reason="",
        finished_at=None,
        sending_since=None,
        uncertain_since=Coalesce("uncertain_since", "sending_since"),
    )


def _update(record: Notification, **changes: object) -> int:
    return Notification.objects.undelivered().filter(pk=record.pk).update(**changes)
