"""What a restore set aside, as a block of the first page and of the lists: how much, and the verbs on all of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from hubqueue.admin.overviews import Overview, add
from hubqueue.admin.readonly import MOST_COUNTED, bounded_count
from hubqueue.admin.typed import typed
from hubqueue.admin.verbs import ReasonForm
from notifications import held as mail_held
from notifications.models import Notification, WebhookMessage
from notifications.webhooks import held as webhooks_held

SENTENCE = (
    "They waited to be sent when the archive was made that this installation comes from. The original may have sent"
    " them since. Nothing sends them from here until somebody releases them."
)
DropForm = typed(ReasonForm, "drop all")


@dataclass(frozen=True, slots=True)
class All:
    """A verb on everything that is on hold. ``do(actor=, reason=)`` answers how many there were."""

    word: str
    label: str
    explanation: str
    permission: str
    done: str
    do: Callable[..., int]
    form: type[ReasonForm] = ReasonForm
    danger: bool = False


MAIL = (
    All(
        "release",
        "Release all",
        f"The {mail_held.MOST_AT_ONCE:,} oldest messages that are on hold are sent now, as far as they are still to be"
        f" sent; {mail_held.BATCH:,} where their old jobs are parked. Whom the original told gets them twice.",
        "notifications.release_notification",
        "released: they are sent now.",
        mail_held.release_all,
    ),
    All(
        "drop",
        "Drop all",
        f"The {mail_held.MOST_AT_ONCE:,} oldest messages that are on hold are never sent.",
        "notifications.drop_notification",
        "dropped: they are not sent.",
        mail_held.drop_all,
        DropForm,
        danger=True,
    ),
)
WEBHOOKS = (
    All(
        "release",
        "Release all",
        f"The {webhooks_held.MOST_AT_ONCE:,} oldest messages that are on hold are sent now, with their ids and bytes."
        " Those of disabled subscriptions stay: enable these first.",
        "notifications.release_webhookmessage",
        "released: they are sent now.",
        webhooks_held.release_all,
    ),
    All(
        "drop",
        "Drop all",
        f"The {webhooks_held.MOST_AT_ONCE:,} oldest messages that are on hold are dead. Each can be replayed.",
        "notifications.drop_webhookmessage",
        "dropped: they are dead.",
        webhooks_held.drop_all,
        DropForm,
        danger=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Block:
    """How much is on hold, and where; ``number`` is empty when nothing is."""

    title: str
    number: str
    shown: str
    verbs: list[tuple[All, str]]
    sentence: str = SENTENCE


def mail() -> dict[str, Any]:
    """What the block of mail shows."""
    rows = Notification.objects.held().order_by()
    return {"held": _block("Mail on hold after a restore", rows, "state=held", MAIL)}


def webhooks() -> dict[str, Any]:
    """What the block of webhooks shows."""
    rows = WebhookMessage.objects.filter(state=WebhookMessage.State.HELD).order_by()
    shown = "state__exact=held"
    return {"held": _block("Webhook messages on hold after a restore", rows, shown, WEBHOOKS)}


add(Overview("admin/notifications/held_mail.html", mail, "notifications.view_notification"))
add(
    Overview(
        "admin/notifications/held_webhooks.html", webhooks, "notifications.view_webhookmessage"
    )
)


def _block(title: str, rows: "QuerySet[Any]", query: str, verbs: tuple[All, ...]) -> Block:
    """``query`` is that of the list which shows them."""
    count = bounded_count(rows)
    number = f"{MOST_COUNTED:,}+" if count > MOST_COUNTED else f"{count:,}"
    page = f"admin:notifications_{rows.model._meta.model_name}"
    return Block(
        title,
        number if count else "",
        f"{reverse(f'{page}_changelist')}?{query}",
        [(each, reverse(f"{page}_held", args=[each.word])) for each in verbs],
    )
