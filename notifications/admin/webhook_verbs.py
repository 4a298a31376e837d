"""The officers' verbs on webhooks in words, with the permission each needs."""

from hubqueue.admin.ask import Verb
from notifications.errors import NotificationError
from notifications.models import WebhookMessage, WebhookSubscription
from notifications.webhooks import held, officers
from notifications.webhooks.deliver_handler import has_job

TEST = Verb(
    "test",
    "Send a test",
    "An event of the type webhooks.ping is sent once, signed and checked like every other.",
    "notifications.test_webhooksubscription",
    "the test is on its way; look at its message below.",
    lambda row, actor, reason: officers.send_test(row.pk, actor=actor, reason=reason),
    NotificationError,
)
ENABLE = Verb(
    "enable",
    "Enable",
    "It is told of events from now on. Dead messages stay dead until they are replayed.",
    "notifications.enable_webhooksubscription",
    "enabled.",
    lambda row, actor, reason: officers.enable(row.pk, actor=actor, reason=reason),
    NotificationError,
)
DISABLE = Verb(
    "disable",
    "Disable",
    "It is told of no more events. A message whose turn comes meanwhile is dead, and can be replayed.",
    "notifications.disable_webhooksubscription",
    "disabled.",
    lambda row, actor, reason: officers.disable(row.pk, actor=actor, reason=reason),
    NotificationError,
)
REPLAY = Verb(
    "replay",
    "Replay",
    "It is sent again now, with the same id and the same bytes, and with all its attempts.",
    "notifications.replay_webhookmessage",
    "a worker sends it now.",
    lambda row, actor, reason: officers.replay(row.pk, actor=actor, reason=reason),
    NotificationError,
)
RELEASE = Verb(
    "release",
    "Release",
    "It is sent now, with the same id and the same bytes. An endpoint that the original called gets it twice.",
    "notifications.release_webhookmessage",
    "a worker sends it now.",
    lambda row, actor, reason: held.release(row.pk, actor=actor, reason=reason),
    NotificationError,
)
DROP = Verb(
    "drop",
    "Drop",
    "It is dead: it is sent only if somebody replays it.",
    "notifications.drop_webhookmessage",
    "it is dead.",
    lambda row, actor, reason: held.drop(row.pk, actor=actor, reason=reason),
    NotificationError,
)
OF_MESSAGES = {verb.word: verb for verb in (REPLAY, RELEASE, DROP)}
OF_SUBSCRIPTIONS = {verb.word: verb for verb in (TEST, ENABLE, DISABLE)}
ROTATE = "notifications.rotate_webhooksubscription"
READ = "notifications.read_webhook_bodies"


def fitting(subscription: WebhookSubscription) -> list[Verb]:
    """The verbs that would not be refused."""
    active = subscription.state == WebhookSubscription.State.ACTIVE
    return [TEST, DISABLE if active else ENABLE]


def fitting_message(message: WebhookMessage) -> list[Verb]:
    if message.state == WebhookMessage.State.HELD:
        return [RELEASE, DROP] if held.can_be_called(message) else [DROP]
    lost = message.state == WebhookMessage.State.PENDING and not has_job(message)
    return [REPLAY] if lost or message.state == WebhookMessage.State.DEAD else []
