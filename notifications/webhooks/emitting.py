"""Say that something happened, in the transaction in which it did."""

import hashlib
from typing import Any
from uuid import UUID

from django.db import router

from hubqueue.ids import uuid7
from hubqueue.models import Job
from hubqueue.querysets import database_now
from notifications.webhooks.dispatch_handler import dispatch
from notifications.webhooks.events import event_type as known


def emit(
    event_type: str,
    *,
    data: dict[str, Any],
    subject: str = "",
    tenant: str | None = None,
    cause: str | None = None,
) -> UUID:
    """Tell every active subscription of ``tenant`` that asked for this type of event; answers the event's id.

    One job in the open transaction; who is told is looked up when it runs, and each of them is told once.
    ``data`` is JSON; whoever subscribes reads it. ``subject`` names what it is about, in up to 200
    characters. ``cause`` (up to 150) names the change: emitted again, nobody is told twice. Raises
    ``EventTypeUnknown``, and ``PayloadRefused`` for data that is not JSON or too large.
    """
    known(event_type)
    for name, text, longest in (("subject", subject, 200), ("cause", cause or "", 150)):
        if len(text) > longest:
            raise ValueError(f"{name}: expected up to {longest} characters, got {len(text)}")
    event_id = uuid7()
    key = None if cause is None else _digest(tenant or "", event_type, cause)
    dispatch.using(tenant=tenant, dedupe_key=key).enqueue(
        event_id=event_id,
        event_type=event_type,
        at=database_now(router.db_for_write(Job)),
        subject=subject,
        data=data,
        tenant=tenant,
        cause=cause or str(event_id),
    )
    return event_id


def _digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()
