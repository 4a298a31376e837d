"""How long a message waits for its turn at an endpoint that has as many attempts under way as it may."""

import random
from datetime import datetime, timedelta

from django.db.models import Count, Min

from hubqueue.querysets import Now
from notifications.models import WebhookDelivery, WebhookMessage, WebhookSubscription
from notifications.webhooks.conf import LONGEST_DEADLINE, conf

# A row of an attempt that is older was left behind by a crash: no exchange lasts as long.
FLIGHT_ENDS_AFTER = timedelta(seconds=LONGEST_DEADLINE + 30)
MOST_COUNTED = 1_000
SHORTEST = timedelta(seconds=0.2)
LONGEST = timedelta(minutes=5)


def turn_comes_after(subscription: WebhookSubscription, now: datetime) -> timedelta | None:
    """None = there is room for another attempt; else how long to wait, at random within what is expected.

    Right only while the caller holds the subscription's row.
    """
    count, _ = _under_way(subscription, now)
    if count < conf().webhooks_in_flight:
        return None
    return max(SHORTEST, expected_wait(subscription, now) * random.random())


def expected_wait(subscription: WebhookSubscription, now: datetime) -> timedelta:
    """How long until all that waits there now has had its turn, at the endpoint's pace. At most ``LONGEST``.

    An attempt that is still under way tells of the pace too: a hanging endpoint is known before it has
    answered once.
    """
    waiting = WebhookMessage.objects.filter(
        subscription=subscription,
        state=WebhookMessage.State.PENDING,
        next_attempt_at__lte=Now(),
    )
    _, oldest = _under_way(subscription, now)
    each = max(subscription.last_seconds, oldest.total_seconds())
    seconds = waiting[:MOST_COUNTED].count() * each / conf().webhooks_in_flight
    return min(timedelta(seconds=seconds), LONGEST)


def _under_way(subscription: WebhookSubscription, now: datetime) -> tuple[int, timedelta]:
    """How many attempts, and for how long the oldest of them."""
    rows = WebhookDelivery.objects.filter(
        subscription=subscription, outcome="", started_at__gt=now - FLIGHT_ENDS_AFTER
    )
    found = rows.aggregate(count=Count("pk"), since=Min("started_at"))
    since = found["since"]
    return found["count"], max(timedelta(0), now - since) if since else timedelta(0)
