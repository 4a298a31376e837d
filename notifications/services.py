"""The door for the applications above: tell people, in the transaction of what they are to be told of."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import models

from notifications.recording import Notice, record
from notifications.webhooks.emitting import emit

__all__ = ["Notice", "emit", "notify", "notify_many"]


def notify(
    category: str,
    recipients: Iterable[Any],
    *,
    cause: str,
    subject: models.Model | None = None,
    actor: Any = None,
    tenant: str | None = None,
) -> list[UUID]:
    """Record one message of ``category`` to each recipient, and queue its delivery, in the open transaction.

    ``recipients`` and ``actor`` are accounts or their keys. ``cause`` names the change, in up to 150
    characters: told again, it is recorded once. Answers the ids of the new records; somebody
    without an account is passed over. Raises ``CategoryUnknown``, and ``ValueError`` for a longer cause.
    """
    about = {"subject": subject, "actor": _key(actor), "tenant": tenant}
    return notify_many([Notice(category, _key(each), cause, **about) for each in recipients])


def notify_many(notices: Sequence[Notice]) -> list[UUID]:
    """Record many messages in one statement per table: see ``notify``."""
    return record(notices)


def _key(account: Any) -> Any:
    return account.pk if isinstance(account, models.Model) else account
