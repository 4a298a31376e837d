"""What a document's snippets may take for granted: the names that its story has at hand."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction

import hubqueue.api
from leads.models import Answer, Event, Question


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


SCENES: dict[str, Callable[[], dict[str, Any]]] = {
    "accounts.md": accounts_scene,
    "leads.md": leads_scene,
    "notifications.md": notifications_scene,
}
