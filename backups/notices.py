"""Telling the officers how runs ended, and of archives that are not sound."""

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import models, transaction

from backups.categories import (
    ARCHIVE_UNSOUND,
    RUN_FAILED,
    RUN_RECOVERED,
    RUN_SUCCEEDED,
    VIEW_RUNS,
)
from backups.models import BackupRun, Notify
from backups.signals import run_ended
from notifications.categories import Category
from notifications.services import notify

Run = BackupRun.State
START, VERIFY = "backups.start_backuprun", "backups.verify_backuprun"
_PERMISSIONS = "django.contrib.auth.backends.ModelBackend"


def tell_end_of(run: BackupRun) -> list[UUID]:
    """Tell what the run's schedule wants to be told, in the transaction that closed the run; answers the messages.

    Told again, it is recorded once. A run without a schedule and one that was cancelled are not told: a person is
    there already. Raises ``ValueError`` for a run that is not closed.
    """
    closed = BackupRun.objects.select_related("schedule").get(pk=run.pk)
    if closed.finished_at is None:
        raise ValueError("the end of a run is told when it has ended, and this one is running")
    ended = partial(
        run_ended.send,
        BackupRun,
        state=closed.state,
        content=closed.content,
        code=closed.code,
        seconds=(closed.finished_at - closed.started_at).total_seconds(),
        stored=closed.bytes,
        missing=closed.media_missing,
    )
    transaction.on_commit(ended)
    about = _wanted(closed)
    if about is None:
        return []
    return notify(
        about.name,
        officers(START),
        cause=f"{about.name}:{closed.pk}",
        subject=closed,
        tenant=closed.tenant,
    )


def tell_unsound(run: BackupRun, verification: UUID) -> list[UUID]:
    """Tell that ``verification`` (its job) found the archive of ``run`` not sound, once, in the open transaction."""
    return notify(
        ARCHIVE_UNSOUND.name,
        officers(VERIFY),
        cause=f"{ARCHIVE_UNSOUND.name}:{run.pk}:{verification}",
        subject=run,
        tenant=run.tenant,
    )


def officers(permission: str) -> "models.QuerySet[Any]":
    """Active staff who hold ``permission`` and may look at runs, superusers among them."""
    users = get_user_model()._default_manager
    able = users.with_perm(permission, backend=_PERMISSIONS)
    seeing = users.with_perm(VIEW_RUNS, backend=_PERMISSIONS)
    return able.filter(is_staff=True, pk__in=seeing.values("pk")).order_by("pk")


def _wanted(run: BackupRun) -> Category | None:
    wanted = run.schedule.notify_on if run.schedule else []
    if run.state == Run.FAILED:
        return RUN_FAILED if Notify.FAILURE in wanted else None
    if run.state != Run.SUCCEEDED:
        return None
    if Notify.RECOVERY in wanted and _one_failed_before(run):
        return RUN_RECOVERED
    return RUN_SUCCEEDED if Notify.SUCCESS in wanted else None


def _one_failed_before(run: BackupRun) -> bool:
    before = BackupRun.objects.filter(
        schedule=run.schedule, finished_at__isnull=False, started_at__lt=run.started_at
    ).exclude(state=Run.CANCELLED)
    last = before.order_by("-started_at").first()
    return last is not None and last.state == Run.FAILED
