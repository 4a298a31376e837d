"""A person is told of every change of the ways into their account, whoever made it."""

from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models.signals import post_save

from accounts import credentials, told_handlers
from accounts.models import AddressChange, Invitation, WayIn, WayInChange
from hubqueue.querysets import Now


@transaction.atomic
def way_in_changed(person: Any, what: WayIn, *, provider: str = "") -> None:
    """Tell ``person`` that a password was set, the address changed, or a ``provider`` was connected or removed.

    In the caller's transaction: what is undone is not told. It cannot be switched off.
    """
    change = WayInChange.objects.create(person=person, what=what, provider=provider, at=Now())
    told_handlers.way_in_changed.using(dedupe_key=str(change.pk)).enqueue(change_id=change.pk)


def watch_passwords() -> None:
    """Notice every password that is set on an account, be it in the admin, by a command or with a link."""
    post_save.connect(
        _saved, sender=get_user_model(), dispatch_uid="accounts.ways_in.password", weak=False
    )


def _saved(*, instance: Any, created: bool, raw: bool = False, **_: Any) -> None:
    # Django keeps what set_password() was given until save() is through; a mere rehash is not marked.
    if created or raw or getattr(instance, "_password", None) is None:
        return
    with transaction.atomic():
        credentials.open_credentials(instance.pk).update(spent_at=Now())
        # Whoever knew the old password may have wished for it: no link is to be minted for that any more.
        AddressChange.objects.filter(person=instance.pk).delete()
        Invitation.objects.open().filter(person=instance.pk).update(accepted_at=Now())
        way_in_changed(instance, WayIn.PASSWORD)
