"""A restored installation calls nobody until an officer says so."""

from django.db.models import QuerySet

from hubqueue.querysets import Now
from notifications.models import WebhookSubscription

REASON = "restored"


def disable_webhooks(using: str) -> int:
    """Disable the active webhook subscriptions, in the caller's transaction, and answer how many. No signal is sent.

    An officer enables them again. Messages and notifications that were waiting have no job, because jobs are not in
    archives: nothing sends them but an officer.
    """
    return _disable(WebhookSubscription.objects.using(using).active())


def disable_webhooks_of(tenant: str, using: str) -> int:
    """The same for one tenant's. Its pending notifications and messages have no job of their own, because the jobs of
    before are parked: an officer who releases one of those sends what it names."""
    return _disable(WebhookSubscription.objects.using(using).active().filter(tenant_id=tenant))


def _disable(active: QuerySet[WebhookSubscription]) -> int:
    return active.update(state=WebhookSubscription.State.DISABLED, reason=REASON, disabled_at=Now())
