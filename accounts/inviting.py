"""An officer invites a person: the account and the job that invites its person are one commit."""

from typing import Any

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.views.decorators.debug import sensitive_variables

from accounts import told_handlers
from accounts.errors import AccountExists, InvitationAccepted
from accounts.models import Invitation
from hubqueue.querysets import Now
from notifications.addresses import sendable
from notifications.preferences import choose_language


@sensitive_variables()
def invite(
    address: str, *, first_name: str = "", last_name: str = "", language: str = "", by: Any = None
) -> Invitation:
    """Make an account with this address, without a password and without a permission, and invite its person.

    The address is also the name to log in with. ``by`` is the officer. In the caller's transaction, if one is open:
    undone, there is neither account nor mail. Raises ``AccountExists``, ``AddressUnsendable``,
    ``PreferenceRefused`` for a language that is not spoken here, or ``ValidationError`` for a name that the account
    cannot hold.
    """
    address = address.strip()
    sendable(address)
    people = get_user_model()
    person = people(
        **{people.USERNAME_FIELD: address, people.get_email_field_name(): address},
        **_names(people, first_name=first_name, last_name=last_name),
    )
    person.set_unusable_password()
    if _is_known(address):
        raise AccountExists
    person.full_clean(validate_unique=False)
    try:
        return _made(person, language, by)
    except IntegrityError:  # somebody else made it since we looked
        raise AccountExists from None


@transaction.atomic
def invite_again(invitation_id: int, *, by: Any = None) -> Invitation:
    """Send an open invitation once more; the link of the earlier mail is dead when this one goes out.

    Raises ``InvitationAccepted``.
    """
    invitation = Invitation.objects.select_for_update().get(pk=invitation_id)
    if not Invitation.objects.open().filter(pk=invitation.pk).exists():
        raise InvitationAccepted
    invitation.sent += 1
    invitation.sent_at = Now()
    invitation.save(update_fields=["sent", "sent_at"])
    _tell(invitation, by)
    return invitation


@transaction.atomic
def _made(person: Any, language: str, by: Any) -> Invitation:
    person.save()
    if language:
        choose_language(person, language)
    invitation = Invitation.objects.create(
        person=person, invited_by=by, invited_at=Now(), sent_at=Now()
    )
    _tell(invitation, by)
    return invitation


def _tell(invitation: Invitation, by: Any) -> None:
    told_handlers.invitation.using(dedupe_key=f"{invitation.pk}:{invitation.sent}").enqueue(
        invitation_id=invitation.pk, sent=invitation.sent, by=None if by is None else str(by.pk)
    )


def _names(people: Any, **given: str) -> dict[str, str]:
    """Those of the names that this kind of account has a place for."""
    fields = {each.name for each in people._meta.get_fields()}
    return {name: value.strip() for name, value in given.items() if name in fields}


def _is_known(address: str) -> bool:
    people = get_user_model()
    fields = (people.USERNAME_FIELD, people.get_email_field_name())
    return any(
        people._default_manager.filter(**{f"{field}__iexact": address}).exists() for field in fields
    )
