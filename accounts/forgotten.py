"""Somebody forgot a password."""

from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from accounts import limits
from accounts.hashes import address_key
from accounts.models import AddressRequest
from accounts.reset_handler import password_reset_request
from accounts.signals import asked
from hubqueue.querysets import Now


@sensitive_variables()
def forgot_password(address: str, client: str) -> None:
    """See to it that every open account of this address gets a link to set a new password.

    Nothing here looks at accounts: the same statements run whether there is one or not, and a worker finds out
    later. ``client`` is who asks (``client_of``), or empty. Past a limit nothing comes of the call; it says so to
    nobody but the metrics and the log, which name the limit.
    """
    key = address_key(address)
    rules = [*([limits.per_client(client)] if client else []), limits.per_address(address)]
    with transaction.atomic():
        passed = limits.passed(rules)
        if not passed:
            AddressRequest.objects.bulk_create(
                [AddressRequest(key=key, address=address.strip(), asked_at=Now())],
                update_conflicts=True,
                unique_fields=["key"],
                update_fields=["address", "asked_at"],
            )
            password_reset_request.using(dedupe_key=key).enqueue(request=key)
    asked.send_robust(sender=None, outcome=passed or "taken")
