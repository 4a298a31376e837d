"""How long a message waits for its turn at an endpoint that has as many attempts under way as it may."""

import random
from datetime import timedelta

from hubqueue.querysets import Now
from notifications.models import WebhookDelivery, WebhookMessage, WebhookSubscription
from notifications.webhooks.conf import LONGEST_DEADLINE, conf

# A row of an attempt that is older was left behind by a crash: no exchange lasts as long.
FLIGHT_ENDS_AFTER = timedelta(seconds=LONGEST_DEADLINE + 30)
MOST_COUNTED = 1_000
SHORTEST = timedelta(seconds=1)
LONGEST = timedelta(minutes=5)


def has_room(subscription: WebhookSubscription) -> bool:
    """Whether another attempt may start. Right only while the caller holds the subscription's row."""
    under_way = WebhookDelivery.objects.filter(
        subscription=subscription, outcome="", started_at__gt=Now() - FLIGHT_ENDS_AFTER
    )
    return under_way.count() < conf().webhooks_in_flight


def expected_wait(subscription: WebhookSubscription) -> timedelta:
    """How long until all that waits there now has had its turn, at the endpoint's last pace. At most ``LONGEST``."""
    waiting = WebhookMessage.objects.filter(
        subscription=subscription,
        state=WebhookMessage.State.PENDING,
        next_attempt_at__lte=Now(),
    )
    count = waiting[:MOST_COUNTED].count()
    seconds = count * subscription.last_seconds / conf().webhooks_in_flight
    return min(timedelta(seconds=seconds), LONGEST)


def turn_comes_after(subscription: WebhookSubscription) -> timedelta:
    """The wait of one message that found no room: at random around what is expected."""
    return max(SHORTEST, expected_wait(subscription) * (0.5 + random.random()))
