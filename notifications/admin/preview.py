"""Every template in every language, filled with its sample, and a mail of it to oneself."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import UUID

from csp.constants import NONE, SELF, UNSAFE_INLINE
from csp.decorators import csp, csp_update
from django.conf import settings
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET, require_POST

from notifications.admin.trial import told
from notifications.categories import Category, categories, category
from notifications.errors import AddressUnsendable, CategoryUnknown
from notifications.rendering import Rendered, render
from notifications.trial_handler import ask_for_trial

PERMISSION = "notifications.preview_template"
# The mail in its frame: its own style attributes, and nothing else. No script, no form, no request.
FRAMED = {
    "default-src": [NONE],
    "style-src": [UNSAFE_INLINE],
    "frame-ancestors": [SELF],
    "base-uri": [NONE],
    "form-action": [NONE],
    "sandbox": True,
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """One template in one language."""

    category: Category
    language: str
    withheld: bool

    @property
    def query(self) -> str:
        said = QueryDict(mutable=True)
        said["language"] = self.language
        if self.withheld:
            said["withheld"] = "1"
        return "?" + said.urlencode()

    def filled(self) -> Rendered:
        sample = replace(self.category.sample(), withheld=self.withheld)
        return render(self.category, sample, language=self.language)


class Previews:
    """The pages, under the page of the messages."""

    def __init__(self, page: ModelAdmin[Any]) -> None:
        self.page = page

    def urls(self) -> list[Any]:
        # django-csp types its decorators for views without arguments of the path.
        shown, framed = cast("Any", require_GET(self.one_view)), cast("Any", self.html_view)
        return [
            path("preview/", self._wrap(self.list_view), name="notifications_previews"),
            path(
                "preview/<str:name>/",
                self._wrap(cast("Any", csp_update({"frame-src": [SELF]})(shown))),
                name="notifications_preview",
            ),
            path(
                "preview/<str:name>/html/",
                self._wrap(xframe_options_sameorigin(cast("Any", csp(FRAMED)(framed)))),
                name="notifications_preview_html",
            ),
            path(
                "preview/<str:name>/test/",
                self._wrap(require_POST(self.trial_view)),
                name="notifications_preview_test",
            ),
        ]

    def list_view(self, request: HttpRequest) -> HttpResponse:
        """All templates, with a link for each language."""
        rows = [
            (each, [(Chosen(each, code, False), word) for code, word in settings.LANGUAGES])
            for each in categories()
        ]
        return self._answer(request, "previews.html", "Preview the mails", rows=rows)

    def one_view(self, request: HttpRequest, name: str) -> HttpResponse:
        """One template: the subject, the text, and the HTML in a frame that can do nothing."""
        chosen = _chosen(name, request.GET)
        return self._answer(
            request,
            "preview.html",
            str(chosen.category.label),
            chosen=chosen,
            languages=[
                (replace(chosen, language=code), word, code == chosen.language)
                for code, word in settings.LANGUAGES
            ],
            other=replace(chosen, withheld=not chosen.withheld),
            filled=chosen.filled(),
            trial=told(request.GET.get("test"), request.user),
        )

    def html_view(self, request: HttpRequest, name: str) -> HttpResponse:
        """The HTML alone, for the frame."""
        return HttpResponse(_chosen(name, request.GET).filled().html)

    def trial_view(self, request: HttpRequest, name: str) -> HttpResponse:
        """Send it to the officer's own address, and go back to see what becomes of it."""
        chosen = _chosen(name, request.POST)
        back = reverse("admin:notifications_preview", args=[name]) + chosen.query
        try:
            job_id: UUID = ask_for_trial(
                request.user, name=name, language=chosen.language, withheld=chosen.withheld
            )
        except AddressUnsendable:
            self.page.message_user(
                request,
                "Nothing was sent: your account has no address that mail can be sent to."
                " Have it set in your account first.",
                messages.ERROR,
            )
            return HttpResponseRedirect(back)
        return HttpResponseRedirect(f"{back}&test={job_id}")

    def _wrap(self, view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        def allowed(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.has_perm(PERMISSION):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        return self.page.admin_site.admin_view(allowed)

    def _answer(
        self, request: HttpRequest, template: str, title: str, **more: Any
    ) -> TemplateResponse:
        context = {
            **self.page.admin_site.each_context(request),
            "opts": self.page.opts,
            "media": self.page.media,
            "title": title,
            **more,
        }
        return TemplateResponse(request, f"admin/notifications/{template}", context)


def _chosen(name: str, said: QueryDict) -> Chosen:
    try:
        chosen = category(name)
    except CategoryUnknown:
        raise Http404 from None
    language = said.get("language", settings.LANGUAGE_CODE)
    withheld = said.get("withheld") == "1"
    if language not in dict(settings.LANGUAGES) or (withheld and not chosen.withholds):
        raise Http404
    return Chosen(chosen, language, withheld)
