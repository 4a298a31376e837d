"""The officers' verbs. Each takes who and why, leaves a log entry, and refuses with a typed error."""

from datetime import datetime
from uuid import UUID

from django.db import router, transaction

from hubqueue.models import Operation
from hubqueue.querysets import Now, database_now
from leads import leasing
from leads.arming import Trigger, arm_events
from leads.errors import LeadRequestBusy, LeadRequestNotFound, LeadVerbRefused
from leads.generate_handler import run as run_job
from leads.models import LeadProvenance, LeadRequest, WalkMark
from leads.models.requests import LEASE
from leads.parked_handler import tell_later
from leads.record import LEAD_ID_LENGTH
from leads.wake import wake_after_commit


@transaction.atomic
def run(event_id: UUID, *, actor: str, reason: str) -> UUID:
    """Lease the event's request, done or not, and enqueue its walk; answers the job's id.

    Raises ``LeadRequestBusy`` under a fresh lease, ``LeadRequestNotFound`` for an event that was never
    armed, ``LeadVerbRefused`` for a parked request. The walk looks at every registration anew.
    """
    lease = leasing.take(event_id, by=f"run by {actor}")
    if lease is None:
        raise _why_not(event_id)
    _forget_marks(event_id)
    job = run_job.using(dedupe_key=f"{lease.id}:{lease.token}").enqueue(
        request_id=lease.id, lease_token=lease.token
    )
    _log("run", event_id, actor, reason, job_id=job.id)
    return job.id


@transaction.atomic
def park(event_id: UUID, *, actor: str, reason: str) -> None:
    """Take the request out of the claim until it is released. A walk that holds it ends at its next page."""
    request = _locked(event_id)
    if request.parked_at is not None:
        raise LeadVerbRefused("the request is parked already; release it first.")
    LeadRequest.objects.filter(pk=request.pk).update(
        parked_at=Now(),
        park_reason=reason[:200],
        claimed_at=None,
        claimed_by="",
        lease_token=None,
        updated_at=Now(),
        updated_by=actor[:150],
    )
    tell_later(request.pk, _now())
    _log("park", event_id, actor, reason)


@transaction.atomic
def release(event_id: UUID, *, actor: str, reason: str) -> None:
    """Let a parked request be claimed again, at once. If it was failing, it has an hour again to recover."""
    request = _locked(event_id)
    if request.parked_at is None:
        raise LeadVerbRefused("the request is not parked; there is nothing to release.")
    LeadRequest.objects.filter(pk=request.pk).update(
        parked_at=None,
        park_reason="",
        next_attempt_at=None,
        failing_since=None if request.failing_since is None else Now(),
        updated_at=Now(),
        updated_by=actor[:150],
    )
    if request.failing_since is not None:
        tell_later(request.pk, _now())
    wake_after_commit()
    _log("release", event_id, actor, reason)


@transaction.atomic
def rearm(event_id: UUID, *, actor: str, reason: str) -> None:
    """Have every registration of the event looked at again. A wait after a failure is over."""
    request = _locked(event_id)
    _forget_marks(event_id)
    LeadRequest.objects.filter(pk=request.pk).update(
        next_attempt_at=None, updated_at=Now(), updated_by=actor[:150]
    )
    arm_events([event_id], Trigger.REARM, by=actor)
    wake_after_commit()
    _log("rearm", event_id, actor, reason)


@transaction.atomic
def relink_lead(old: str, new: str, *, actor: str, reason: str) -> int:
    """After a merge in the CRM: groups of the lead ``old`` belong to ``new``. Answers how many."""
    for given in (old, new):
        if not given or len(given) > LEAD_ID_LENGTH or not given.isprintable():
            raise LeadVerbRefused(f"a lead id has 1 to {LEAD_ID_LENGTH} printable characters.")
    if old == new:
        raise LeadVerbRefused("the old and the new lead are the same; give two.")
    moved = LeadProvenance.objects.filter(lead_id=old).update(lead_id=new, updated_at=Now())
    _log("relink", None, actor, reason, target=f"lead {old} to {new}: {moved} groups")
    return moved


def _why_not(event_id: UUID) -> Exception:
    request = LeadRequest.objects.filter(event_id=event_id).first()
    if request is None:
        return LeadRequestNotFound(
            "this event was never armed; arm it by a rule or a registration."
        )
    if request.parked_at is not None:
        return LeadVerbRefused("the request is parked; release it first.")
    return LeadRequestBusy(
        f"a walk holds this request ({request.claimed_by or 'nobody knows whose'}); wait until it"
        f" ends, at most {LEASE.total_seconds() / 60:.0f} minutes after it was last heard of."
    )


def _locked(event_id: UUID) -> LeadRequest:
    request = LeadRequest.objects.select_for_update(no_key=True).filter(event_id=event_id).first()
    if request is None:
        raise LeadRequestNotFound("this event was never armed; arm it by a rule or a registration.")
    return request


def _forget_marks(event_id: UUID) -> None:
    WalkMark.objects.filter(event_id=event_id).delete()


def _log(
    verb: str,
    event_id: UUID | None,
    actor: str,
    reason: str,
    *,
    job_id: UUID | None = None,
    target: str = "",
) -> None:
    Operation.objects.create(
        verb=f"leads.{verb}",
        target=(target or f"lead request of event {event_id}")[:200],
        job_id=job_id,
        actor=actor[:150],
        reason=reason[:200],
        at=_now(),
    )


def _now() -> datetime:
    return database_now(router.db_for_write(LeadRequest))
