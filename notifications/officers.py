"""The officers' verbs. Each takes who and why, leaves an entry, and refuses with a typed error."""

from uuid import UUID

from django.db import router, transaction

from hubqueue.lifecycle.failure import brief
from hubqueue.models import Job, Operation
from hubqueue.querysets import database_now
from notifications import moves
from notifications.deliver_handler import deliver
from notifications.errors import NotificationNotFound, ResendRefused
from notifications.models import Notification

State = Notification.State
SENDABLE = frozenset({State.PENDING, State.FAILED, State.UNCERTAIN})


@transaction.atomic
def resend(notification_id: UUID, *, actor: str, reason: str) -> UUID:
    """Have a failed or uncertain message sent again, or one that waits and lost its job; answers the id of its job.

    It is decided anew whether it is to be sent, and that it may have arrived once stays on the record.
    Raises ``NotificationNotFound``, or ``ResendRefused`` for one in another state or still under way.
    """
    record = _locked(notification_id)
    if record.state not in SENDABLE:
        raise ResendRefused(
            "the message is on hold after a restore; release or drop it."
            if record.state == State.HELD
            else f"the message is {record.state}; only a failed or uncertain one is sent again."
        )
    if _under_way(record):
        raise ResendRefused(
            "its delivery is still under way; wait for it, or cancel that job first."
        )
    moves.reopen(record)
    job = deliver.using(tenant=record.tenant_id, dedupe_key=str(record.pk)).enqueue(
        notification_id=record.pk
    )
    Operation.objects.create(
        verb="notifications.resend",
        target=f"notification {record.pk}",
        job_id=job.id,
        actor=brief(actor, 150),
        reason=brief(reason, 200),
        at=database_now(router.db_for_write(Operation)),
    )
    return job.id


def _locked(notification_id: UUID) -> Notification:
    found = Notification.objects.select_for_update(no_key=True).filter(pk=notification_id).first()
    if found is None:
        raise NotificationNotFound("there is no such message; it may have been past its retention.")
    return found


def _under_way(record: Notification) -> bool:
    """Whether a job still has it: parked by an officer counts, dead does not."""
    return Job.objects.unfinished_with_key(deliver.kind, str(record.pk)).exists()
