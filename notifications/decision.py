"""Whether a message is sent: asked when it is recorded and again when it is delivered; the later answer wins."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model

from notifications.addresses import sendable
from notifications.categories import Category
from notifications.errors import AddressUnsendable
from notifications.models import Notification, Preference
from notifications.reasons import Reason

State = Notification.State


@dataclass(frozen=True, slots=True)
class Refusal:
    """It is not sent: the state the record ends in, and why."""

    state: Notification.State
    reason: Reason


@dataclass(frozen=True, slots=True)
class Wishes:
    """The people of some messages and what they switched off, read at one moment."""

    people: dict[Any, Any]
    off: frozenset[tuple[Any, str, str]]


def read_wishes(person_ids: Iterable[Any]) -> Wishes:
    """One query for the people and one for their preferences."""
    ids = set(person_ids)
    people = get_user_model()._default_manager.in_bulk(ids)
    off = Preference.objects.filter(person__in=ids).values_list("person", "category", "channel")
    return Wishes(people, frozenset(off))


def wishes_of(record: Notification) -> Wishes:
    """The same for the recipient of one record, who is read with it: one query, if there is something to ask."""
    off = Preference.objects.filter(
        person=record.recipient_id, category=record.category, channel=record.channel
    )
    key = (record.recipient_id, record.category, str(record.channel))
    return Wishes({record.recipient_id: record.recipient}, frozenset([key] if off.exists() else []))


def decide(category: Category, record: Notification, wishes: Wishes) -> Refusal | None:
    """None = send it. Reads only what is in memory."""
    person = wishes.people.get(record.recipient_id)
    if person is None or not person.is_active:
        return Refusal(State.SUPPRESSED, Reason.LEFT)
    if category.suppressible and record.actor_id == record.recipient_id:
        return Refusal(State.SUPPRESSED, Reason.OWN_DOING)
    wanted = (record.recipient_id, record.category, record.channel) not in wishes.off
    if category.suppressible and not wanted:
        return Refusal(State.SUPPRESSED, Reason.SWITCHED_OFF)
    address = address_of(person)
    if not address:
        return Refusal(State.SUPPRESSED, Reason.NO_ADDRESS)
    try:
        sendable(address)
    except AddressUnsendable:
        return Refusal(State.FAILED, Reason.ADDRESS_UNSENDABLE)
    return None


def address_of(person: Any) -> str:
    """The account's address as it is stored, or nothing."""
    return str(getattr(person, person.get_email_field_name(), "") or "")
