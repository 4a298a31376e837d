"""Which language a page is shown in."""

from typing import Any

from django.http import HttpRequest
from django.middleware.locale import LocaleMiddleware
from django.urls import NoReverseMatch, reverse
from django.utils import translation

OFFICERS_LANGUAGE = "en"


class PageLanguage(LocaleMiddleware):
    """The visitor's, as Django finds it; the officers' pages are written in English, and all of each is."""

    def process_request(self, request: HttpRequest) -> Any:
        if is_officers(request.path):
            translation.activate(OFFICERS_LANGUAGE)
            request.LANGUAGE_CODE = OFFICERS_LANGUAGE
            return None
        return super().process_request(request)


def is_officers(path: str) -> bool:
    """Whether a path leads into the admin."""
    try:
        return path.startswith(reverse("admin:index"))
    except NoReverseMatch:
        return False
