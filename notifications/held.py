"""Messages that a restore set aside: nothing sends them until an officer releases them, one or all, or drops them."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from uuid import UUID

from django.db import router, transaction

from hubqueue import officers as queue
from hubqueue.api import Enqueued, Outcome
from hubqueue.lifecycle.failure import brief
from hubqueue.models import Job, Operation
from hubqueue.querysets import Now, database_now
from notifications.deliver_handler import deliver
from notifications.errors import HeldRefused, NotificationNotFound
from notifications.models import Notification
from notifications.reasons import Reason
from notifications.signals import delivery_ended

State = Notification.State
MOST_AT_ONCE = 10_000
BATCH = 1_000


@transaction.atomic
def release(notification_id: UUID, *, actor: str, reason: str) -> UUID:
    """Have it sent after all; answers the id of its job. It is decided anew whether it is sent.

    Raises ``NotificationNotFound``, ``HeldRefused`` for one that is not held.
    """
    record = _locked(notification_id)
    (job,) = _send([record], actor, reason)
    _enter("release", f"notification {record.pk}", actor, reason, job.id)
    return job.id


@transaction.atomic
def drop(notification_id: UUID, *, actor: str, reason: str) -> None:
    """Never send it. Raises ``NotificationNotFound``, ``HeldRefused`` for one that is not held."""
    record = _locked(notification_id)
    _end([record])
    _enter("drop", f"notification {record.pk}", actor, reason)


@transaction.atomic
def release_all(*, actor: str, reason: str) -> int:
    """Release the oldest ``MOST_AT_ONCE`` in one transaction; answers how many.

    Those of a copy of a whole system ``BATCH`` at most: letting go of a parked job takes about 10 ms.
    """
    records, done = _oldest(), 0
    for start in range(0, len(records), BATCH):
        answers = _send(records[start : start + BATCH], actor, reason)
        done += len(answers)
        if any(each.outcome is Outcome.PARKED for each in answers):
            break
    _enter("release", f"notifications on hold: {done}", actor, reason)
    return done


@transaction.atomic
def drop_all(*, actor: str, reason: str) -> int:
    """Drop the oldest ``MOST_AT_ONCE`` in one transaction; answers how many there were."""
    records = _oldest()
    _end(records)
    _enter("drop", f"notifications on hold: {len(records)}", actor, reason)
    return len(records)


def _locked(notification_id: UUID) -> Notification:
    found = Notification.objects.select_for_update(no_key=True).filter(pk=notification_id).first()
    if found is None:
        raise NotificationNotFound("there is no such message; it may have been past its retention.")
    if found.state != State.HELD:
        raise HeldRefused(f"the message is {found.state}; only one that is on hold is let go.")
    return found


def _oldest() -> list[Notification]:
    held = Notification.objects.held().select_for_update(no_key=True).order_by("pk")
    return list(held[:MOST_AT_ONCE])


def _send(records: Sequence[Notification], actor: str, reason: str) -> list[Enqueued]:
    """Each with a job: a new one, or that of the copied installation, which the restore parked."""
    Notification.objects.filter(pk__in=[each.pk for each in records]).update(
        state=State.PENDING, reason=""
    )
    answers = deliver.enqueue_many(
        deliver.using(tenant=each.tenant_id, dedupe_key=str(each.pk)).item(notification_id=each.pk)
        for each in records
    )
    for job_id in _set_aside(answers):
        queue.release(job_id, actor=actor, reason=reason)
    return answers


def _set_aside(answers: Sequence[Enqueued]) -> list[UUID]:
    """A job that an officer parked for a reason of their own stays where it is."""
    parked = [each.id for each in answers if each.outcome is Outcome.PARKED]
    by_us = Job.objects.filter(pk__in=parked, park_reason=Reason.RESTORED.value)
    return list(by_us.order_by("pk").values_list("pk", flat=True))


def _end(records: Sequence[Notification]) -> None:
    Notification.objects.filter(pk__in=[each.pk for each in records]).update(
        state=State.SUPPRESSED, reason=Reason.DROPPED, finished_at=Now()
    )
    for name, count in Counter(each.category for each in records).items():
        tell = partial(
            delivery_ended.send_robust,
            sender=None,
            category=name,
            state=str(State.SUPPRESSED),
            reason=str(Reason.DROPPED),
            count=count,
        )
        transaction.on_commit(tell, using=router.db_for_write(Notification), robust=True)


def _enter(verb: str, target: str, actor: str, reason: str, job_id: UUID | None = None) -> None:
    Operation.objects.create(
        verb=f"mail.{verb}",  # a verb has up to 20 characters
        target=target,
        job_id=job_id,
        actor=brief(actor, 150),
        reason=brief(reason, 200),
        at=database_now(router.db_for_write(Operation)),
    )
