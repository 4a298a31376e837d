"""What the officers' verbs of this app share: the entry in the log, and the job that is asked to stop."""

from uuid import UUID

from hubqueue import officers
from hubqueue.errors import MoveRefused
from hubqueue.lifecycle.failure import brief
from hubqueue.models import Operation
from hubqueue.querysets import Now


def log(verb: str, about: str, job_id: UUID | None, *, actor: str, reason: str) -> None:
    """Write who did it, to what, and why; in the transaction of the deed."""
    Operation.objects.create(
        verb=f"backups.{verb}",
        target=about[:200],
        job_id=job_id,
        actor=brief(actor, 150),
        reason=brief(reason, 200),
        at=Now(),
    )


def stop_job(job_id: UUID | None, *, actor: str, reason: str) -> bool:
    """Whether the job was there to be stopped. Raises ``MoveRefused`` when it cannot be reached now."""
    if job_id is None:
        return False
    try:
        officers.cancel(job_id, actor=actor, reason=reason)
    except MoveRefused as refused:
        if refused.code not in {"unknown_job", "wrong_state"}:
            raise
        return False
    return True
