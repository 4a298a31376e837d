"""The officers' verbs on a message, with the permission each needs."""

from hubqueue.admin.ask import Verb
from hubqueue.models import Job
from notifications import held, officers
from notifications.admin.standing import kind_of
from notifications.errors import NotificationError
from notifications.models import Notification


def name(row: Notification) -> str:
    return f"{kind_of(row)} to {row.recipient}"


RESEND = Verb(
    "resend",
    "Send again",
    "It is sent once more, now, in the words that fit now. Who got it already gets it twice.",
    "notifications.resend_notification",
    "it is sent again now.",
    lambda row, actor, reason: officers.resend(row.pk, actor=actor, reason=reason),
    NotificationError,
    name,
)
RELEASE = Verb(
    "release",
    "Release",
    "It is sent now, if it is still to be sent. Whom the original installation told gets it twice.",
    "notifications.release_notification",
    "it is sent now.",
    lambda row, actor, reason: held.release(row.pk, actor=actor, reason=reason),
    NotificationError,
    name,
)
DROP = Verb(
    "drop",
    "Drop",
    "It is never sent.",
    "notifications.drop_notification",
    "it is not sent.",
    lambda row, actor, reason: held.drop(row.pk, actor=actor, reason=reason),
    NotificationError,
    name,
)
VERBS = {verb.word: verb for verb in (RESEND, RELEASE, DROP)}


def fitting(row: Notification, job: Job | None) -> list[Verb]:
    """The verbs that would not be refused as the message stands now. ``job`` is the one that is to deliver it."""
    if row.state == Notification.State.HELD:
        return [RELEASE, DROP]
    return [RESEND] if row.state in officers.SENDABLE and job is None else []
