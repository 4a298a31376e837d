"""The secret of a subscription: shown on one page, once after its making and once after each rotation."""

from typing import Any
from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.dateparse import parse_datetime

from hubqueue.admin.readonly import BoundedAdmin
from hubqueue.admin.verbs import ReasonForm
from notifications.admin.webhook_verbs import ROTATE
from notifications.errors import NotificationError
from notifications.models import WebhookSubscription
from notifications.webhooks import officers
from notifications.webhooks.conf import conf


class SecretPages(BoundedAdmin[WebhookSubscription]):
    """The page that shows a secret and the one that asks why it is to be rotated.

    The secret is in the answer to the request that made it and nowhere else: in no message, session or log.
    """

    def rotate_view(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        """Ask why; with an answer make a new secret and show it, this once."""
        row = self.viewed(request, row_id)
        if not request.user.has_perm(ROTATE):
            raise PermissionDenied
        form = ReasonForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            return self._rotate(request, row, form.cleaned_data["reason"])
        context = {
            **self._context(request, row, f"A new secret for {row.name}"),
            "form": form,
            "since": row.rotated_at.isoformat(),
            "hours": conf().webhooks_rotation_hours,
        }
        return TemplateResponse(request, "admin/notifications/webhook_rotate.html", context)

    def secret_page(
        self, request: HttpRequest, row: WebhookSubscription, secret: str, *, rotated: bool
    ) -> HttpResponse:
        """Show it; nobody keeps a copy of this page."""
        context = {
            **self._context(request, row, f"The secret of {row.name}"),
            "secret": secret,
            "rotated": rotated,
            "hours": conf().webhooks_rotation_hours,
        }
        page = TemplateResponse(request, "admin/notifications/webhook_secret.html", context)
        add_never_cache_headers(page)
        return page

    def viewed(self, request: HttpRequest, row_id: UUID) -> WebhookSubscription:
        """The subscription, for somebody who may look at it."""
        row: WebhookSubscription = get_object_or_404(self.get_queryset(request), pk=row_id)
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        return row

    def address(self, row: WebhookSubscription) -> str:
        return reverse("admin:notifications_webhooksubscription_change", args=[row.pk])

    def _rotate(self, request: HttpRequest, row: WebhookSubscription, reason: str) -> HttpResponse:
        since = parse_datetime(request.POST.get("since", ""))
        try:
            secret = officers.rotate(
                row.pk,
                since=since or row.created_at,
                actor=request.user.get_username(),
                reason=reason,
            )
        except NotificationError as refused:
            self.message_user(request, f"Refused ({refused.code}): {refused}", "error")
            return HttpResponseRedirect(self.address(row))
        LogEntry.objects.create(
            user_id=str(request.user.pk),
            content_type=ContentType.objects.get_for_model(row),
            object_id=str(row.pk),
            object_repr=str(row)[:200],
            action_flag=CHANGE,
            change_message=f"Rotate the secret: {reason}",
        )
        row.refresh_from_db()
        return self.secret_page(request, row, secret, rotated=bool(row.previous_secret))

    def _context(
        self, request: HttpRequest, row: WebhookSubscription, title: str
    ) -> dict[str, Any]:
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            "title": title,
            "back": self.address(row),
        }
