"""Webhook messages: what was sent to an endpoint, what it answered, replay, and what is on hold."""

import json
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from hubqueue.admin import cells
from hubqueue.admin.ask import ask_and_do
from hubqueue.admin.readonly import LookOnlyAdmin
from hubqueue.querysets import database_now
from notifications.admin.held import WEBHOOKS
from notifications.admin.held_pages import HeldAdmin
from notifications.admin.webhook_cells import pill, rows_of, standing_of_message
from notifications.admin.webhook_verbs import (
    DROP,
    OF_MESSAGES,
    READ,
    RELEASE,
    REPLAY,
    fitting_message,
)
from notifications.models import WebhookMessage

MOST_SHOWN = 16 * 1024
ATTEMPTS_SHOWN = 50


@admin.register(WebhookMessage)
class WebhookMessageAdmin(HeldAdmin[WebhookMessage], LookOnlyAdmin[WebhookMessage]):
    change_list_template = "admin/notifications/webhook_messages.html"
    list_display = ["event_type", "subscription", "standing", "cause", "attempts", "made"]
    list_filter = ["state"]
    list_select_related = ["subscription"]
    search_fields = ["id__exact"]
    search_help_text = "A webhook-id, in full."
    ordering = ["-id"]
    sortable_by = ()
    actions = ["replay", "release", "drop"]
    release_verb, drop_verb, all_verbs = RELEASE, DROP, WEBHOOKS

    def get_queryset(self, request: HttpRequest) -> QuerySet[WebhookMessage]:
        return super().get_queryset(request).defer("body")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """By id; anything else finds nothing."""
        if not search_term:
            return queryset, False
        try:
            return queryset.filter(pk=UUID(search_term.strip())), False
        except ValueError:
            return queryset.none(), False

    def get_urls(self) -> list[Any]:
        view, name = self.admin_site.admin_view(self.verb_view), "notifications_webhookmessage"
        return [
            *self.held_urls(),
            *(
                path(f"<uuid:row_id>/{word}/", view, {"word": word}, name=f"{name}_{word}")
                for word in OF_MESSAGES
            ),
            *super().get_urls(),
        ]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Few lookups by hand: others would be a way to guess what was sent."""
        return lookup in {"state__exact", "subscription__id__exact"}

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The page of one message."""
        row: Any = self.get_object(request, object_id)
        if row is None:
            return super().change_view(request, object_id, form_url, extra_context)
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        now = database_now(self.get_queryset(request).db)
        may_read = request.user.has_perm(READ)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            "title": str(row),
            "message": row,
            "pill": pill(row),
            "sentences": standing_of_message(row, now),
            "facts": _facts(row, now),
            "may_read": may_read,
            "body": _readable(bytes(row.body)) if may_read else "",
            "deliveries": rows_of(row.deliveries.order_by("-id")[:ATTEMPTS_SHOWN], now),
            "verbs": [v for v in fitting_message(row) if request.user.has_perm(v.permission)],
        }
        return TemplateResponse(request, "admin/notifications/webhook_message.html", context)

    def verb_view(self, request: HttpRequest, row_id: UUID, word: str) -> HttpResponse:
        """Ask why; with an answer do it and go back to the message."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = self.get_queryset(request).filter(pk=get_object_or_404(WebhookMessage, pk=row_id).pk)
        back = reverse("admin:notifications_webhookmessage_change", args=[row_id])
        asked = ask_and_do(self, request, rows, OF_MESSAGES[word], back=back)
        return asked or HttpResponseRedirect(back)

    @admin.action(description="Replay …", permissions=["replay"])
    def replay(
        self, request: HttpRequest, queryset: QuerySet[WebhookMessage]
    ) -> HttpResponse | None:
        return ask_and_do(self, request, queryset, REPLAY)

    def has_replay_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(REPLAY.permission)

    @admin.display(description="state")
    def standing(self, row: WebhookMessage) -> SafeString:
        return pill(row)

    @admin.display(description="why")
    def cause(self, row: WebhookMessage) -> str:
        return row.reason.replace("_", " ") or cells.NOTHING

    @admin.display(description="made")
    def made(self, row: WebhookMessage) -> SafeString | str:
        return cells.when(row.created_at, timezone.now())


def _facts(row: WebhookMessage, now: Any) -> list[tuple[str, object]]:
    return [
        ("webhook-id", row.pk),
        ("event", row.event_type),
        ("tenant", row.tenant_id or cells.NOTHING),
        ("attempts", row.attempts),
        ("replays", row.ladder - 1),
        ("made", cells.when(row.created_at, now)),
        ("next attempt", cells.when(row.next_attempt_at, now)),
        ("ended", cells.when(row.finished_at, now)),
    ]


def _readable(body: bytes) -> str:
    """The body indented; as it is where it is long."""
    if len(body) > MOST_SHOWN:
        return body[:MOST_SHOWN].decode(errors="replace") + " …"
    return json.dumps(json.loads(body), ensure_ascii=False, indent=2)
