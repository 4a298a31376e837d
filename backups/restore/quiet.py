"""A restored installation calls nobody until an officer says so."""

from hubqueue.querysets import Now
from notifications.models import WebhookSubscription

REASON = "restored"


def disable_webhooks(using: str) -> int:
    """Disable the active webhook subscriptions, in the caller's transaction, and answer how many. No signal is sent.

    An officer enables them again. Messages and notifications that were waiting have no job, because jobs are not in
    archives: nothing sends them but an officer.
    """
    active = WebhookSubscription.objects.using(using).active()
    return active.update(state=WebhookSubscription.State.DISABLED, reason=REASON, disabled_at=Now())
