"""The text of a message, made when it is sent: nothing of it is stored."""

import unicodedata
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.template import Context, Engine
from django.urls import NoReverseMatch, reverse
from django.utils import timezone, translation

from notifications.categories import Category, Subject
from notifications.conf import conf

SUBJECT_LENGTH = 150
SUBJECT, TEXT, HTML = PARTS = ("subject.txt", "body.txt", "body.html")
_BREAKING = frozenset({"Cc", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class Rendered:
    """One message in one language. ``subject`` is one line of at most ``SUBJECT_LENGTH`` characters."""

    subject: str
    text: str
    html: str


def render(
    category: Category, subject: Subject, *, language: str, unsubscribe_url: str = ""
) -> Rendered:
    """The message in ``language``, its moments in the installation's time zone.

    Templates see what ``Subject.values`` holds, and ``url`` (where to look at it), ``home``, ``language``,
    ``category``, ``subject_line`` and, for the footer, ``preferences`` (where it is switched off) and
    ``unsubscribe_url`` (each empty = there is none). Raises ``TemplateDoesNotExist`` where
    ``manage.py check`` would have said ``notifications.E002``.
    """
    base = folder(category, withheld=subject.withheld)
    values = {
        **subject.values,
        "url": absolute(subject.path),
        "home": absolute("/"),
        "preferences": preferences() if category.suppressible else "",
        "category": category,
        "unsubscribe_url": unsubscribe_url,
    }
    with translation.override(language), timezone.override(timezone.get_default_timezone()):
        values["language"] = translation.get_language()
        line = one_line(_fill(f"{base}/{SUBJECT}", values, escape=False))
        values["subject_line"] = line
        text = _fill(f"{base}/{TEXT}", values, escape=False)
        html = _fill(f"{base}/{HTML}", values, escape=True)
    return Rendered(line, text.strip() + "\n", html.strip() + "\n")


def language_of(person: Any) -> str:
    """The language a person is written to in: their own choice where it is spoken here, else the usual one."""
    reader = getattr(person, "reader", None)
    chosen = "" if reader is None else reader.language
    try:
        return translation.get_supported_language_variant(chosen or settings.LANGUAGE_CODE)
    except LookupError:
        return settings.LANGUAGE_CODE


def absolute(path: str) -> str:
    """The address of a path of this installation. Raises ``ValueError`` for what is no path."""
    if not path.startswith("/"):
        raise ValueError("expected a path that starts with a slash; use reverse()")
    return conf().notifications_base_url.rstrip("/") + path


def preferences() -> str:
    """Where people choose which mails they get; empty where that page is not wired in."""
    try:
        return absolute(reverse("notifications:preferences"))
    except NoReverseMatch:
        return ""


def folder(category: Category, *, withheld: bool) -> str:
    """Where the templates of a category are looked for."""
    return f"notifications/{category.name}" + ("/withheld" if withheld else "")


def one_line(text: str) -> str:
    """``text`` without line breaks and control characters, cut with an ellipsis."""
    plain = "".join(" " if unicodedata.category(each) in _BREAKING else each for each in text)
    plain = " ".join(plain.split())
    return plain if len(plain) <= SUBJECT_LENGTH else plain[: SUBJECT_LENGTH - 1].rstrip() + "…"


def _fill(name: str, values: dict[str, Any], *, escape: bool) -> str:
    """Whether values are escaped is decided here, not by the template."""
    template = Engine.get_default().get_template(name)
    return template.render(Context(values, autoescape=escape))
