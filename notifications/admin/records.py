"""Messages: what was to be told to whom, what became of it, sending it again, releasing and dropping it."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from hubqueue.admin import cells
from hubqueue.admin.ask import ask_and_do
from hubqueue.admin.filters import TenantFilter
from hubqueue.admin.readonly import GoesAlongAdmin
from hubqueue.admin.steps import as_uuid
from hubqueue.querysets import database_now
from notifications.admin import filters, preview
from notifications.admin.held import MAIL
from notifications.admin.held_pages import HeldAdmin
from notifications.admin.reach import NotificationChangeList
from notifications.admin.record_page import described, may, standing_job, view_permission
from notifications.admin.standing import kind_of, pill, sentence
from notifications.admin.verbs import DROP, RELEASE, RESEND, VERBS, fitting
from notifications.models import Notification

MOST_PEOPLE = 20


@admin.register(Notification)
class NotificationAdmin(HeldAdmin[Notification], GoesAlongAdmin[Notification]):
    change_list_template = "admin/notifications/list.html"
    list_display = ["state_", "kind_", "recipient_", "why_", "recorded_"]
    list_display_links = ["kind_"]
    list_filter = [
        filters.StateFilter,
        filters.ReasonFilter,
        filters.CategoryFilter,
        TenantFilter,
    ]
    list_select_related = ["recipient"]
    search_fields = ["id"]
    search_help_text = "The name or the address of a recipient, or the id of a message, in full."
    ordering = ["-id"]
    sortable_by = ()
    actions = ["resend", "release", "drop"]
    release_verb, drop_verb, all_verbs = RELEASE, DROP, MAIL

    class Media:
        css = {"all": ["notifications/officers.css"]}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[NotificationChangeList]:
        return NotificationChangeList

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """No lookups by hand in the address: they would be a way to guess what is not shown."""
        return lookup in {"state", "reason", "category", "tenant"}

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Notification], search_term: str
    ) -> tuple[QuerySet[Notification], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        if "\x00" in term:
            return queryset.none(), False
        if (row_id := as_uuid(term)) is not None:
            return queryset.filter(pk=row_id), False
        people = get_user_model()
        named = Q(**{people.USERNAME_FIELD: term})
        if may(request.user, view_permission(people)):
            named |= Q(**{f"{people.get_email_field_name()}__iexact": term})
        found = people._default_manager.filter(named).values_list("pk", flat=True)[:MOST_PEOPLE]
        return queryset.filter(recipient__in=list(found)), False

    def get_urls(self) -> list[Any]:
        view, name = self.admin_site.admin_view(self.verb_view), "notifications_notification"
        return [
            *preview.Previews(self).urls(),
            *self.held_urls(),
            *(
                path(f"<uuid:row_id>/{word}/", view, {"word": word}, name=f"{name}_{word}")
                for word in VERBS
            ),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The page of one message."""
        row = self.get_object(request, object_id)
        if row is None:
            return super().change_view(request, object_id, form_url, extra_context)
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            **described(row, request.user, database_now(self.get_queryset(request).db)),
            "verbs": [
                each
                for each in fitting(row, standing_job(row))
                if may(request.user, each.permission)
            ],
        }
        return TemplateResponse(request, "admin/notifications/record.html", context)

    def verb_view(self, request: HttpRequest, row_id: UUID, word: str) -> HttpResponse:
        """Ask why; with an answer do it and go back to the message."""
        verb = VERBS[word]
        if not (self.has_view_permission(request) and may(request.user, verb.permission)):
            raise PermissionDenied
        rows = self.get_queryset(request).filter(pk=get_object_or_404(Notification, pk=row_id).pk)
        back = reverse("admin:notifications_notification_change", args=[row_id])
        return ask_and_do(self, request, rows, verb, back=back) or HttpResponseRedirect(back)

    @admin.action(description="Send again …", permissions=["resend"])
    def resend(self, request: HttpRequest, queryset: QuerySet[Notification]) -> HttpResponse | None:
        return ask_and_do(self, request, queryset, RESEND)

    def has_resend_permission(self, request: HttpRequest) -> bool:
        return may(request.user, RESEND.permission)

    @admin.display(description="state")
    def state_(self, row: Notification) -> SafeString:
        return pill(row)

    @admin.display(description="kind of mail")
    def kind_(self, row: Notification) -> str:
        return kind_of(row)

    @admin.display(description="to")
    def recipient_(self, row: Notification) -> str:
        return row.recipient.get_username()

    @admin.display(description="what became of it")
    def why_(self, row: Notification) -> str:
        if row.reason:
            return sentence(row.reason)
        if row.uncertain_since is None:
            return cells.NOTHING
        sent = row.state == Notification.State.SENT
        return "It may have arrived twice." if sent else "It may have arrived."

    @admin.display(description="recorded")
    def recorded_(self, row: Notification) -> SafeString | str:
        return cells.when(row.created_at, timezone.now())
