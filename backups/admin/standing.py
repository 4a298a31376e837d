"""Rows whose page says how they stand: it follows what moves by itself, and its verbs ask why."""

from abc import abstractmethod
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, TypeVar
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import path, reverse

from hubqueue.admin.ask import Verb, ask_and_do
from hubqueue.admin.readonly import LookOnlyAdmin
from hubqueue.admin.viewer import Viewer
from hubqueue.querysets import database_now

M = TypeVar("M", bound=Model)


class StandingAdmin(LookOnlyAdmin[M]):
    """``verbs`` are those that any row may be asked for, by their word; the address is ``backups_<model>_verb``."""

    verbs: ClassVar[Mapping[str, Verb]]
    actions = None
    sortable_by = ()

    @abstractmethod
    def described(self, row: M, viewer: Viewer, now: datetime) -> dict[str, Any]:
        """What ``admin/backups/standing.html`` takes."""

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.verb_view)
        name = f"{self.opts.app_label}_{self.opts.model_name}_verb"
        return [path("<uuid:row_id>/do/<slug:word>/", view, name=name), *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The page of one row."""
        row = self.get_object(request, object_id)
        if row is None:
            return super().change_view(request, object_id, form_url, extra_context)
        if not self.has_view_permission(request, row):
            raise PermissionDenied
        now = database_now(self.get_queryset(request).db)
        return self.page(request, "standing.html", self.described(row, request.user, now))

    def verb_view(self, request: HttpRequest, row_id: UUID, word: str) -> HttpResponse:
        """Ask why; with an answer do it and go back to the row."""
        if word not in self.verbs:
            raise Http404
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = self.get_queryset(request).filter(pk=get_object_or_404(self.model, pk=row_id).pk)
        back = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[row_id])
        asked = ask_and_do(self, request, rows, self.verbs[word], back=back)
        return asked or HttpResponseRedirect(back)

    def page(self, request: HttpRequest, name: str, context: dict[str, Any]) -> TemplateResponse:
        """A page below ``admin/backups/``, in the frame of the others."""
        usual = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
        }
        return TemplateResponse(request, f"admin/backups/{name}", {**usual, **context})
