"""Pause and resume a queue, a kind or a tenant: a predicate the claim asks. What runs goes on."""

from datetime import datetime

from django.db import transaction

from hubqueue.errors import MoveRefused
from hubqueue.lifecycle import ring
from hubqueue.lifecycle.failure import brief
from hubqueue.lifecycle.operate import enter
from hubqueue.models import Pause
from hubqueue.querysets import Now


def pause(
    scope: str, value: str, *, actor: str, reason: str, until: datetime | None, using: str
) -> Pause:
    """Pause, or change the pause that stands. ``until`` None = until resumed."""
    if scope not in Pause.Scope.values:
        raise MoveRefused("unknown_scope", f"expected queue, kind or tenant, got {scope!r}")
    if not value or len(value) > 100:
        raise MoveRefused("no_value", f"expected the name of the {scope}, of up to 100 characters")
    with transaction.atomic(using=using):
        made, _ = Pause.objects.using(using).update_or_create(
            scope=scope,
            value=value,
            defaults={
                "reason": brief(reason, 200),
                "paused_by": brief(actor, 150),
                "paused_at": Now(),
                "until": until,
            },
        )
        enter("pause", f"{scope} {value}", actor=actor, reason=reason, using=using)
    made.refresh_from_db(using=using)
    return made


def resume(scope: str, value: str, *, actor: str, reason: str, using: str) -> None:
    """End a pause now. Refuses when nothing stands paused under that name."""
    with transaction.atomic(using=using):
        deleted, _ = Pause.objects.using(using).filter(scope=scope, value=value).delete()
        if not deleted:
            raise MoveRefused("not_paused", f"the {scope} {value} is not paused")
        enter("resume", f"{scope} {value}", actor=actor, reason=reason, using=using)
        if scope == Pause.Scope.QUEUE:
            ring.ring_after_commit([value], using=using)
