"""Webhook subscriptions: make, edit, rotate, test, enable and disable them; what was sent last."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.utils import timezone
from django.utils.safestring import SafeString

from hubqueue.admin import cells
from hubqueue.admin.ask import ask_and_do
from hubqueue.querysets import database_now
from notifications.admin.webhook_cells import host, pill, rows_of, standing_of
from notifications.admin.webhook_form import SubscriptionForm
from notifications.admin.webhook_secret import SecretPages
from notifications.admin.webhook_verbs import OF_SUBSCRIPTIONS, ROTATE, fitting
from notifications.models import WebhookSubscription
from notifications.webhooks.sign import new_secret, sealed, unsealed

SHOWN = 20


@admin.register(WebhookSubscription)
class WebhookSubscriptionAdmin(SecretPages):
    form = SubscriptionForm
    change_form_template = "admin/notifications/webhook_subscription.html"
    list_display = ["name", "standing", "endpoint", "tenant_id", "types", "dead_in_row", "made"]
    list_filter = ["state"]
    search_fields = ["name__icontains", "tenant_id__exact"]
    search_help_text = "A part of the name, or a tenant in full."
    ordering = ["-id"]
    sortable_by = ()
    actions = None
    autocomplete_fields = ["owner"]

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        name = "notifications_webhooksubscription"
        return [
            path("<uuid:row_id>/rotate/", view(self.rotate_view), name=f"{name}_rotate"),
            path("<uuid:row_id>/<slug:word>/now/", view(self.verb_view), name=f"{name}_verb"),
            *super().get_urls(),
        ]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        fields = ["name", "tenant_id", "url", "event_types", "owner"]
        return fields if obj is not None else [*fields, "new_id"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """What was recorded for one tenant would be sent to the other, or replayed to it."""
        return [] if obj is None else ["tenant_id"]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """No lookups by hand: ``?secret__startswith=`` would be a way to guess."""
        return lookup == "state__exact"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """What was sent is kept for as long as the settings say; who wants silence disables."""
        return False

    def save_model(self, request: HttpRequest, obj: WebhookSubscription, form: Any, change: bool) -> None:  # fmt: skip
        """An edit writes what the form holds and nothing else: a worker may be writing the rest."""
        if change:
            obj.save(update_fields=list(form.Meta.fields))
            return
        obj.id = form.cleaned_data.get("new_id") or obj.id
        obj.secret = sealed(new_secret())
        obj.save(force_insert=True)

    def response_add(
        self, request: HttpRequest, obj: WebhookSubscription, post_url_continue: str | None = None
    ) -> HttpResponse:
        """The page that shows the secret, this once."""
        return self.secret_page(request, obj, unsealed(obj.secret), rotated=False)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        obj: WebhookSubscription | None = kwargs.get("obj")
        if obj is None:  # what follows is the page with the secret, whichever button
            context |= {"show_save_and_add_another": False, "show_save_and_continue": False}
        else:
            now = database_now(self.get_queryset(request).db)
            last = obj.deliveries.select_related("message").order_by("-id")[:SHOWN]
            context |= {
                "title": obj.name,
                "subtitle": None,
                "pill": pill(obj),
                "sentences": standing_of(obj, now),
                "deliveries": rows_of(last, now),
                "verbs": [v for v in fitting(obj) if request.user.has_perm(v.permission)],
                "may_rotate": request.user.has_perm(ROTATE),
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def verb_view(self, request: HttpRequest, row_id: UUID, word: str) -> HttpResponse:
        """Ask why; with an answer do it and go back to the subscription."""
        if word not in OF_SUBSCRIPTIONS:
            raise Http404
        row = self.viewed(request, row_id)
        rows = self.get_queryset(request).filter(pk=row.pk)
        back = self.address(row)
        asked = ask_and_do(self, request, rows, OF_SUBSCRIPTIONS[word], back=back)
        return asked or HttpResponseRedirect(back)

    @admin.display(description="state")
    def standing(self, row: WebhookSubscription) -> SafeString:
        return pill(row)

    @admin.display(description="host")
    def endpoint(self, row: WebhookSubscription) -> str:
        return host(row)

    @admin.display(description="events")
    def types(self, row: WebhookSubscription) -> str:
        return ", ".join(row.event_types) or cells.NOTHING

    @admin.display(description="made")
    def made(self, row: WebhookSubscription) -> SafeString | str:
        return cells.when(row.created_at, timezone.now())
