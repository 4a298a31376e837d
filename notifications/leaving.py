"""An account that is deleted is locked before what belongs to it: nobody is told of anything in between."""

from typing import Any

from django.contrib.auth import get_user_model
from django.db.models.signals import pre_delete


def lock_who_is_deleted() -> None:
    """From now on every deletion of an account takes its lock first, whoever deletes it."""
    pre_delete.connect(
        _lock, sender=get_user_model(), dispatch_uid="notifications.leaving", weak=False
    )


def _lock(*, instance: Any, using: str, **_: Any) -> None:
    """Wait for those who are telling it of something, and let others find out that it goes.

    Django has only counted by now what belongs to the account: the statements that delete it come after this.
    """
    people = type(instance)._base_manager.using(using)
    list(people.select_for_update().filter(pk=instance.pk).values_list("pk"))
