"""Releasing and dropping what a restore set aside: chosen rows, or all of it."""

from typing import Any, TypeVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse

from hubqueue.admin.ask import Verb, ask_and_do
from notifications.admin.held import All

M = TypeVar("M", bound=Model)


class HeldAdmin(admin.ModelAdmin[M]):
    """The actions ``release`` and ``drop`` of a list, and the pages of the verbs on all rows that are on hold."""

    release_verb: Verb
    drop_verb: Verb
    all_verbs: tuple[All, ...]

    @admin.action(description="Release …", permissions=["release"])
    def release(self, request: HttpRequest, queryset: QuerySet[M]) -> HttpResponse | None:
        return ask_and_do(self, request, queryset, self.release_verb)

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(self.release_verb.permission)

    @admin.action(description="Drop …", permissions=["drop"])
    def drop(self, request: HttpRequest, queryset: QuerySet[M]) -> HttpResponse | None:
        return ask_and_do(self, request, queryset, self.drop_verb)

    def has_drop_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(self.drop_verb.permission)

    def held_urls(self) -> list[Any]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_held"
        return [path("held/<slug:word>/", self.admin_site.admin_view(self.held_view), name=name)]

    def held_view(self, request: HttpRequest, word: str) -> HttpResponse:
        """Ask why; with an answer do it to all that is on hold and go back to the list."""
        verb = next((each for each in self.all_verbs if each.word == word), None)
        if verb is None:
            raise Http404
        if not (self.has_view_permission(request) and request.user.has_perm(verb.permission)):
            raise PermissionDenied
        back = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        form = verb.form(request.POST if "confirmed" in request.POST else None)
        if form.is_valid():
            number = verb.do(actor=request.user.get_username(), reason=form.cleaned_data["reason"])
            self.message_user(request, f"{number:,} {verb.done}", messages.SUCCESS)
            return HttpResponseRedirect(back)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            "title": verb.label,
            "verb": verb,
            "form": form,
            "danger": verb.danger,
            "back": back,
        }
        return TemplateResponse(request, "admin/hubqueue/ask.html", context)
