"""What a person is told in a record of its own: that they are invited, that a way into their account changed."""

from uuid import UUID

from accounts.models import Invitation, WayInChange
from hubqueue.api import Done, JobContext, Result, handler
from notifications.services import notify


@handler("accounts.invitation")
def invitation(job: JobContext, *, invitation_id: int, sent: int, by: str | None = None) -> Result:
    """Record the mail that invites a person, unless they have come or left meanwhile.

    Transactional: the record and this job's completion are one commit, and the link is minted when the record is
    delivered. Only the database can fail here, so the usual policy holds. ``sent`` counts how often the person was
    invited. Dedupe key: the invitation and that number.
    """
    row = Invitation.objects.open().filter(pk=invitation_id, person__is_active=True).first()
    if row is not None:
        cause = f"accounts.invitation:{row.pk}:{sent}"
        notify("accounts.invitation", [row.person_id], cause=cause, subject=row, actor=by)
    return Done()


@handler("accounts.way_in_changed")
def way_in_changed(job: JobContext, *, change_id: UUID) -> Result:
    """Record the mail that tells a person of a change.

    Transactional: the record and this job's completion are one commit. Only the database can fail here, so the usual
    policy holds. Dedupe key: the change.
    """
    row = WayInChange.objects.filter(pk=change_id).first()
    if row is not None:
        cause = f"accounts.way_in_changed:{row.pk}"
        notify("accounts.way_in_changed", [row.person_id], cause=cause, subject=row)
    return Done()
