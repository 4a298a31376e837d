"""Links: minted when a mail is sent, found by their token, spent once. The newest of a purpose works."""

import secrets
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.db.models import Q
from django.views.decorators.debug import sensitive_variables

from accounts.conf import conf
from accounts.errors import LinkExpired, LinkSpent, LinkUnknown
from accounts.hashes import TOKEN, is_stamped, keyed, keyed_under_any, stamp
from accounts.models import Credential
from hubqueue.querysets import Now

Purpose = Credential.Purpose


@sensitive_variables()
@transaction.atomic
def mint(person_id: Any, purpose: Credential.Purpose, *, address: str = "") -> str:
    """A fresh token for this person; earlier ones of the purpose are spent. It is to be mailed and kept nowhere.

    Two mints at once take turns, and the later one's works.
    """
    person = locked(person_id)
    open_credentials(person.pk).filter(purpose=purpose).update(spent_at=Now())
    token = secrets.token_urlsafe(32)
    Credential.objects.create(
        person=person,
        purpose=purpose,
        digest=keyed(TOKEN, token),
        stamp=stamp(person),
        address=address,
        minted_at=Now(),
        expires_at=Now() + conf().link_life,
    )
    return token


@sensitive_variables()
def find(token: str, *purposes: Credential.Purpose) -> Credential:
    """The open credential of this token, with its person. Raises ``LinkRefused``."""
    digests = keyed_under_any(TOKEN, token)
    found = (
        Credential.objects.filter(digest__in=digests, purpose__in=purposes)
        .select_related("person")
        .annotate(is_late=Q(expires_at__lte=Now()))
        .first()
    )
    if found is None:
        raise LinkUnknown
    if found.spent_at is not None:
        raise LinkSpent
    if found.is_late:
        raise LinkExpired
    if not _is_still_meant(found, found.person):
        raise LinkSpent
    return found


def spend(credential: Credential) -> Any:
    """Use it up, and every other open one of its person; of two at once, one succeeds.

    To be called in the transaction of what the link does. Answers the person's row, locked. Raises ``LinkRefused``.
    """
    try:
        person = locked(credential.person_id)
    except ObjectDoesNotExist:
        raise LinkUnknown from None
    still = Credential.objects.filter(pk=credential.pk, spent_at__isnull=True)
    if not still.filter(expires_at__gt=Now()).update(spent_at=Now()):
        raise LinkSpent
    if not _is_still_meant(credential, person):
        raise LinkSpent
    open_credentials(person.pk).update(spent_at=Now())
    return person


def open_credentials(person_id: Any) -> Any:
    """Those that were not spent; some may have expired."""
    return Credential.objects.filter(person=person_id, spent_at__isnull=True)


def locked(person_id: Any) -> Any:
    """The account's row as it is now, locked until the transaction ends. Its key stays free to be referred to."""
    people = get_user_model()._base_manager
    return people.select_for_update(no_key=True).get(pk=person_id)


def _is_still_meant(credential: Credential, person: Any) -> bool:
    return bool(person.is_active) and is_stamped(person, credential.stamp)
