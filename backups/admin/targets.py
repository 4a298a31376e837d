"""Backup targets: make, edit and test them. No page shows a credential."""

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from backups.admin.run_verbs import START
from backups.admin.target_form import TargetForm
from backups.admin.target_page import NOT_ENCRYPTED, standing_of
from backups.errors import TargetError
from backups.models import BackupRun, BackupTarget
from backups.schedules.keep import target_enabled
from backups.targets.credential import keep_credential
from backups.targets.trial import try_target
from hubqueue.admin import cells
from hubqueue.admin.ask import Verb, ask_and_do
from hubqueue.admin.readonly import BoundedAdmin
from hubqueue.querysets import database_now

TEST = Verb(
    word="test",
    label="Test",
    explanation="A small object is written, read back and deleted at the target now.",
    permission="backups.test_backuptarget",
    done="it takes, gives back and deletes objects.",
    do=lambda row, actor, reason: try_target(row),
    refusal=TargetError,
)
MOST_SCHEDULES = 20
WRITTEN = ["name", "config", "encryption", "plain_by", "plain_at", "enabled", "held"]


@admin.register(BackupTarget)
class BackupTargetAdmin(BoundedAdmin[BackupTarget]):
    form = TargetForm
    change_form_template = "admin/backups/target.html"
    list_display = ["name", "kind", "encrypted", "enabled", "tested"]
    list_filter = ["kind", "enabled"]
    search_fields = ["name__icontains"]
    ordering = ["name"]
    sortable_by = ()
    actions = None

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.test_view)
        start = self.admin_site.admin_view(self.start_view)
        return [
            path("<uuid:row_id>/test/now/", view, name="backups_backuptarget_test"),
            path("<uuid:row_id>/start/now/", start, name="backups_backuptarget_start"),
            *super().get_urls(),
        ]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        about = ["name", "kind", "config", "new_credential"]
        return [*about, "encryption", "plain_accepted", "enabled"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """The credential is sealed for the kind."""
        return [] if obj is None else ["kind"]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """No lookups by hand: ``?credential__startswith=`` would be a way to guess."""
        return lookup in {"kind__exact", "enabled__exact"}

    @method_decorator(sensitive_post_parameters("new_credential"))
    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """The page with the form. No report of an error tells the credential."""
        return super().changeform_view(request, *args, **kwargs)

    @sensitive_variables("secret")
    def save_model(self, request: HttpRequest, obj: BackupTarget, form: Any, change: bool) -> None:  # fmt: skip
        """Writes what the form holds, seals the credential, and records who accepted that nothing is encrypted."""
        if obj.encryption == BackupTarget.Encryption.CLIENT:
            obj.plain_by, obj.plain_at = "", None
        elif not obj.plain_by:
            obj.plain_by = request.user.get_username()
            obj.plain_at = database_now(self.get_queryset(request).db)
        obj.held = obj.held and not obj.enabled
        if change:
            rows = self.get_queryset(request).filter(pk=obj.pk, enabled=False)
            enables = obj.enabled and rows.exists()
            obj.save(update_fields=WRITTEN)
            if enables:
                target_enabled(obj)
        else:
            obj.save(force_insert=True)
        if secret := form.cleaned_data.get("new_credential"):
            keep_credential(obj, secret)
        if obj.encryption == BackupTarget.Encryption.NONE:
            self.message_user(request, NOT_ENCRYPTED, messages.WARNING)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        obj: BackupTarget | None = kwargs.get("obj")
        if obj is not None:
            context |= {
                "title": obj.name,
                "subtitle": None,
                "sentences": standing_of(obj, database_now(_using(obj))),
                "may_test": request.user.has_perm(TEST.permission),
                "may_start": obj.enabled and request.user.has_perm(START.permission),
                "may_see_runs": request.user.has_perm("backups.view_backuprun"),
                "schedules": obj.schedules.order_by("name")[:MOST_SCHEDULES],
            }
        return super().render_change_form(request, context, *args, **kwargs)

    def test_view(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        """Ask why; with an answer test the target and go back to it."""
        row = get_object_or_404(self.get_queryset(request), pk=row_id)
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        back = reverse("admin:backups_backuptarget_change", args=[row.pk])
        rows = self.get_queryset(request).filter(pk=row.pk)
        return ask_and_do(self, request, rows, TEST, back=back) or HttpResponseRedirect(back)

    def start_view(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        """Ask why; with an answer start a run and go to it."""
        row = get_object_or_404(self.get_queryset(request), pk=row_id)
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        back = reverse("admin:backups_backuptarget_change", args=[row.pk])
        rows = self.get_queryset(request).filter(pk=row.pk)
        if asked := ask_and_do(self, request, rows, START, back=back):
            return asked
        run = BackupRun.objects.filter(target=row, state=BackupRun.State.RUNNING).first()
        if run is not None and request.user.has_perm("backups.view_backuprun"):
            back = reverse("admin:backups_backuprun_change", args=[run.pk])
        return HttpResponseRedirect(back)

    @admin.display(description="encrypted")
    def encrypted(self, row: BackupTarget) -> SafeString | str:
        if row.encryption == BackupTarget.Encryption.CLIENT:
            return "yes"
        return format_html('<span class="hq-pill hq-dead">{}</span>', "not encrypted")

    @admin.display(description="last test")
    def tested(self, row: BackupTarget) -> SafeString | str:
        if row.tested_at is None:
            return "never"
        return format_html(
            "{} {}", row.tested_code, cells.when(row.tested_at, database_now(_using(row)))
        )


def _using(row: BackupTarget) -> str:
    return row._state.db or "default"
