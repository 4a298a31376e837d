"""The officers' verb on a message, with the permission it needs."""

from hubqueue.admin.ask import Verb
from hubqueue.models import Job
from notifications import officers
from notifications.admin.standing import kind_of
from notifications.errors import NotificationError
from notifications.models import Notification

RESEND = Verb(
    "resend",
    "Send again",
    "It is sent once more, now, in the words that fit now. Who got it already gets it twice.",
    "notifications.resend_notification",
    "it is sent again now.",
    lambda row, actor, reason: officers.resend(row.pk, actor=actor, reason=reason),
    NotificationError,
    lambda row: f"{kind_of(row)} to {row.recipient}",
)


def fitting(row: Notification, job: Job | None) -> list[Verb]:
    """The verbs that would not be refused as the message stands now. ``job`` is the one that is to deliver it."""
    return [RESEND] if row.state in officers.SENDABLE and job is None else []
