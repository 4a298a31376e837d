"""Telling how a restore ended."""

from functools import partial

from django.contrib.auth import get_user_model
from django.db import transaction

from backups.models import BackupRestore
from backups.notices import officers
from backups.restore_notice import RESTORE_FAILED
from backups.signals import restore_ended
from notifications.services import notify

RESTORE = "backups.restore_backuprun"


def tell_end_of(restore: BackupRestore) -> None:
    """Tell in the transaction that closed it: the metrics always, people when it has failed.

    Those are who asked for it and the active staff who may restore and look at runs. The messages are no tenant's: they
    must not come and go with its rows.
    """
    assert restore.finished_at is not None  # it is closed
    ended = partial(
        restore_ended.send,
        BackupRestore,
        restore_id=restore.pk,
        mode=restore.mode,
        state=restore.state,
        code=restore.code,
        seconds=(restore.finished_at - restore.requested_at).total_seconds(),
    )
    transaction.on_commit(ended)
    if restore.state == BackupRestore.State.FAILED:
        cause = f"{RESTORE_FAILED.name}:{restore.pk}"
        notify(RESTORE_FAILED.name, _who(restore), cause=cause, subject=restore)


def _who(restore: BackupRestore) -> list[int]:
    users = get_user_model()
    named = {users.USERNAME_FIELD: restore.asked_by, "is_active": True}
    asked = users._default_manager.filter(**named).values_list("pk", flat=True)
    return sorted({*officers(RESTORE).values_list("pk", flat=True), *asked})
