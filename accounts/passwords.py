"""A password is set with a mailed link: a new one, or the first one of somebody who was invited."""

from django.contrib.auth import password_validation
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from accounts import credentials
from accounts.errors import LinkRefused
from accounts.models import Credential
from accounts.signals import link_used

PURPOSES = (Credential.Purpose.RESET, Credential.Purpose.INVITATION)


@sensitive_variables()
def look_at_link(token: str) -> Credential:
    """What the link opens; it stays as it is. Raises ``LinkRefused``."""
    return credentials.find(token, *PURPOSES)


@sensitive_variables()
def set_password(token: str, new: str) -> None:
    """Set the password of the link's account and spend all its links. Every session of the account ends.

    The person is told by mail. Of two uses at once, one works. Raises ``LinkRefused``, or ``ValidationError``
    for a password that Django's validators refuse; the link stays open then.
    """
    try:
        credential = look_at_link(token)
        person = credential.person
        password_validation.validate_password(new, person)
        # Hashing takes its time, on purpose: it is done before any row is locked, and only for a good link.
        person.set_password(new)
        with transaction.atomic():
            credentials.spend(credential)
            person.save(update_fields=["password"])  # ways_in sees to the rest
    except LinkRefused as refused:
        link_used.send_robust(sender=None, purpose="password", outcome=refused.code)
        raise
    link_used.send_robust(sender=None, purpose="password", outcome="ok")
