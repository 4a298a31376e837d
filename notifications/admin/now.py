"""How mail stands at this moment: counts that read no more than a thousand rows each, and what holds it up."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.urls import reverse

from hubqueue.admin.overviews import Overview, add
from hubqueue.admin.readonly import MOST_COUNTED, bounded_count
from hubqueue.models import Pause
from hubqueue.querysets import database_now
from hubqueue.registry import registry
from notifications.admin.faults import MEANINGS
from notifications.mail.breaker import ACTOR as BREAKER
from notifications.models import Notification

State = Notification.State
LATELY = timedelta(hours=24)
# What fails now was recorded no longer ago than this, except by an officer's doing.
TRIED = timedelta(days=2)
QUEUE = "mail"
COUNTED = ((State.PENDING, "waiting"), (State.UNCERTAIN, "uncertain"), (State.FAILED, "failed"))


@dataclass(frozen=True, slots=True)
class Tile:
    number: str
    word: str
    address: str
    alarm: bool = False


def now() -> dict[str, Any]:
    """What the block of mail shows."""
    return {"tiles": tiles(), "pauses": pauses()}


add(Overview("admin/notifications/now.html", now, "notifications.view_notification"))


def tiles() -> list[Tile]:
    """Waiting, uncertain and failed, and what failed since yesterday."""
    rows = Notification.objects.order_by()
    base = reverse("admin:notifications_notification_changelist")
    found = []
    for state, word in COUNTED:
        count = bounded_count(rows.filter(state=state))
        found.append(Tile(_number(count), word, f"{base}?state={state}"))
    since = database_now(rows.db) - LATELY
    fresh = rows.filter(state=State.FAILED, pk__gte=_first_id(since - TRIED))
    lately = bounded_count(fresh.filter(finished_at__gte=since))
    word = "failed in 24 h"
    found.append(Tile(_number(lately), word, f"{base}?state={State.FAILED}", lately > 0))
    return found


def pauses() -> list[str]:
    """Why mail is held up, one sentence per reason; empty when it is not."""
    kinds = [kind for kind, each in registry.by_kind.items() if each.queue == QUEUE]
    standing = Pause.objects.in_force().filter(
        Q(scope=Pause.Scope.QUEUE, value=QUEUE) | Q(scope=Pause.Scope.KIND, value__in=kinds)
    )
    said = [_said(each) for each in standing.order_by("paused_at")[:MOST_COUNTED]]
    return list(dict.fromkeys(said))


def _said(pause: Pause) -> str:
    end = "until somebody resumes it"
    if pause.until is not None:
        end = f"until {pause.until:%Y-%m-%d %H:%M} UTC at the latest"
    if pause.paused_by != BREAKER:
        return f"Mail waits {end}, paused by {pause.paused_by}: {pause.reason}"
    meaning = MEANINGS.get(pause.reason.partition(":")[0], "")
    return f"Mail waits {end}. {meaning} {pause.reason}"


def _number(count: int) -> str:
    return f"{MOST_COUNTED:,}+" if count > MOST_COUNTED else f"{count:,}"


def _first_id(moment: datetime) -> UUID:
    """The smallest UUIDv7 of a moment: its first 48 bits are milliseconds."""
    return UUID(int=int(moment.timestamp() * 1000) << 80)
