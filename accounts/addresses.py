"""A person changes the address of their account: they ask, and confirm with a link that went to the new one."""

from typing import Any

from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from accounts import credentials, limits
from accounts.address_handlers import address_confirmation, address_left
from accounts.errors import LinkRefused, TooMany
from accounts.models import AddressChange, Credential, FormerAddress, WayIn
from accounts.signals import link_used
from accounts.ways_in import way_in_changed
from hubqueue.querysets import Now
from notifications.addresses import sendable
from notifications.decision import address_of

ADDRESS = Credential.Purpose.ADDRESS


@sensitive_variables()
def request_address_change(person: Any, address: str) -> None:
    """Mail a link to the new address; until it is used, the account keeps the old one.

    The newest wish counts: links of earlier ones are dead from now on. Whether another account has the address
    is not looked at, and cannot be learned. Raises ``AddressUnsendable``, or ``TooMany``.
    """
    address = address.strip()
    sendable(address)
    with transaction.atomic():
        passed = limits.passed([limits.per_person(person.pk), limits.per_new_address(address)])
        if not passed:
            _ask(person, address)
    if passed:
        raise TooMany


def _ask(person: Any, address: str) -> None:
    """The job's row is taken before the others, as by the attempt that mints."""
    address_confirmation.using(dedupe_key=str(person.pk)).enqueue(person=str(person.pk))
    credentials.open_credentials(person.pk).filter(purpose=ADDRESS).update(spent_at=Now())
    AddressChange.objects.bulk_create(
        [AddressChange(person=person, address=address, asked_at=Now())],
        update_conflicts=True,
        unique_fields=["person"],
        update_fields=["address", "asked_at"],
    )


@sensitive_variables()
def confirm_address(token: str) -> None:
    """Give the account the address the link was sent to, and spend all its links.

    Both addresses are told: the old one, since that is where the owner of a stolen account looks. Of two uses at
    once, one works. Raises ``LinkRefused``.
    """
    try:
        credential = credentials.find(token, ADDRESS)
        with transaction.atomic():
            _change(credentials.spend(credential), credential.address)
    except LinkRefused as refused:
        link_used.send_robust(sender=None, purpose="address", outcome=refused.code)
        raise
    link_used.send_robust(sender=None, purpose="address", outcome="ok")


@sensitive_variables()
@transaction.atomic
def address_changed(person: Any, former: str) -> None:
    """Tell both addresses that the account has another one now, and spend its links and a wish for yet another."""
    credentials.open_credentials(person.pk).update(spent_at=Now())
    AddressChange.objects.filter(person=person).delete()
    way_in_changed(person, WayIn.ADDRESS)
    if former:
        row = FormerAddress.objects.create(person=person, address=former, left_at=Now())
        address_left.using(dedupe_key=str(row.pk)).enqueue(former=row.pk)


def _change(person: Any, address: str) -> None:
    field = person.get_email_field_name()
    former = address_of(person)
    setattr(person, field, address)
    person.save(update_fields=[field])
    address_changed(person, former)
