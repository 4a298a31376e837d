"""What a document's snippets may take for granted: the names that its story has at hand."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction

import hubqueue.api
from hubqueue.ids import uuid7
from leads.models import Answer, Event, Question
from notifications.webhooks.body import cloud_event
from notifications.webhooks.sign import new_secret, signatures


@contextmanager
def stage(document: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The namespace in which the Python blocks of ``document`` run one after another."""
    yield {
        "__name__": f"docs_{document.stem.replace('-', '_')}",
        **{name: getattr(hubqueue.api, name) for name in hubqueue.api.__all__},
        **{each.__name__: each for each in (UUID, date, datetime, timedelta, Decimal, partial)},
        "transaction": transaction,
        **SCENES.get(document.name, dict)(),
    }


def notifications_scene() -> dict[str, Any]:
    """A person."""
    return {"ada": get_user_model().objects.create(username="ada", email="ada@example.org")}


def leads_scene() -> dict[str, Any]:
    """An event, and a question that can be answered with yes."""
    question = Question.objects.create(title="Do you want an offer?")
    return {
        "event": Event.objects.create(code="E1", name="Night Trains"),
        "question": question,
        "yes": Answer.objects.create(question=question, title="yes"),
    }


def accounts_scene() -> dict[str, Any]:
    """A person and an officer."""
    people = get_user_model().objects
    return {**notifications_scene(), "officer": people.create(username="officer")}


def webhooks_scene() -> dict[str, Any]:
    """What a receiver has at hand: its secret, and a request that has come in."""
    secret, stamp = new_secret(), str(int(time.time()))
    said = {"order": "4711"}
    body = cloud_event(uuid7(), "orders.paid", at=datetime.now(UTC), subject="", data=said)
    headers = {"webhook-id": "m1", "webhook-timestamp": stamp}
    headers["webhook-signature"] = signatures([new_secret(), secret], "m1", stamp, body)
    return {"secret": secret, "body": body, "headers": headers}


SCENES: dict[str, Callable[[], dict[str, Any]]] = {
    "accounts.md": accounts_scene,
    "leads.md": leads_scene,
    "notifications.md": notifications_scene,
    "webhooks.md": webhooks_scene,
}
