"""Importing a file: upload, look at it, say yes, watch it, take the report."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.validators import ProhibitNullCharactersValidator
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from hubqueue.admin.readonly import LookOnlyAdmin
from leads import imports
from leads.errors import ImportRefused
from leads.importing.report import report_lines
from leads.importing.rows import Problem
from leads.models import ImportProblem, ImportRun

PERMISSION = "leads.import_registrations"
SHOWN = 100


class UploadForm(forms.Form):
    file = forms.FileField(
        help_text="CSV with the columns event, name, email, phone, company, sale_order, state and"
        " registered_at; every further column is a question. Nothing is imported before you have"
        " seen how it is understood."
    )
    tenant = forms.CharField(
        max_length=64,
        required=False,
        validators=[ProhibitNullCharactersValidator()],
        help_text="Whose events these are; empty = the installation's own.",
    )
    arm_leads = forms.BooleanField(
        required=False, initial=True, label="Generate leads of these registrations"
    )


@admin.register(ImportRun)
class ImportRunAdmin(LookOnlyAdmin[ImportRun]):
    change_list_template = "admin/leads/import_list.html"
    list_display = ["file_name", "state", "records", "imported", "duplicates", "bad", "created_by", "created_at"]  # fmt: skip  # noqa: E501
    ordering = ["-id"]
    actions = None
    sortable_by = ()

    def get_urls(self) -> list[Any]:
        wrap = self.admin_site.admin_view
        return [
            path("upload/", wrap(self.upload_view), name="leads_import_upload"),
            path("<uuid:run_id>/run/", wrap(self.run_view), name="leads_import_run"),
            path(
                "<uuid:run_id>/start/",
                wrap(require_POST(self.start_view)),
                name="leads_import_start",
            ),
            path("<uuid:run_id>/report.csv", wrap(self.report_view), name="leads_import_report"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The page of a run is its own."""
        try:
            return HttpResponseRedirect(reverse("admin:leads_import_run", args=[UUID(object_id)]))
        except ValueError:
            raise Http404 from None

    def upload_view(self, request: HttpRequest) -> HttpResponse:
        """Keep a file and show how it was understood; nothing is imported yet."""
        _check(request)
        form = UploadForm(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            said = form.cleaned_data
            try:
                run = imports.upload(
                    said["file"],
                    said["file"].name,
                    tenant=said["tenant"] or None,
                    arm_leads=said["arm_leads"],
                    by=request.user.get_username(),
                )
            except ImportRefused as refused:
                form.add_error("file", str(refused))
            else:
                return HttpResponseRedirect(reverse("admin:leads_import_run", args=[run.pk]))
        return self._page(request, "upload.html", "Import registrations", form=form)

    def run_view(self, request: HttpRequest, run_id: UUID) -> HttpResponse:
        """Before the start: a preview. After it: how far it is and what was wrong."""
        _check(request)
        run = get_object_or_404(ImportRun, pk=run_id)
        waiting = run.state == ImportRun.State.UPLOADED
        problems = [] if waiting else list(run.problems.order_by("line")[:SHOWN])
        return self._page(
            request,
            "import_run.html",
            run.file_name,
            run=run,
            waiting=waiting,
            running=run.state == ImportRun.State.RUNNING,
            preview=imports.preview_run(run) if waiting else None,
            share=min(100, round(100 * run.bytes_read / max(1, run.size))),
            problems=problems,
            shown=SHOWN,
        )

    def start_view(self, request: HttpRequest, run_id: UUID) -> HttpResponse:
        """Say yes: the import becomes a job. Or drop the file."""
        _check(request)
        run = get_object_or_404(ImportRun, pk=run_id)
        if "discard" in request.POST:
            try:
                imports.discard(run)
            except ImportRefused as refused:
                self.message_user(request, str(refused), messages.ERROR)
            return HttpResponseRedirect(reverse("admin:leads_importrun_changelist"))
        if not imports.start(run):
            self.message_user(request, "It was started already.", messages.WARNING)
        return HttpResponseRedirect(reverse("admin:leads_import_run", args=[run.pk]))

    def report_view(self, request: HttpRequest, run_id: UUID) -> StreamingHttpResponse:
        """Every problem as CSV."""
        _check(request)
        run = get_object_or_404(ImportRun, pk=run_id)
        rows = ImportProblem.objects.filter(run=run).order_by("line").iterator(chunk_size=1000)
        lines = report_lines(Problem(each.line, each.code, each.reason) for each in rows)
        return StreamingHttpResponse(
            lines,
            content_type="text/csv; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="import-{run.pk}.csv"'},
        )

    def _page(self, request: HttpRequest, name: str, title: str, **more: Any) -> TemplateResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            "title": title,
            **more,
        }
        return TemplateResponse(request, f"admin/leads/{name}", context)


def _check(request: HttpRequest) -> None:
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
