"""Verbs of the applications' pages that ask for a reason first and are done row by row."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.text import capfirst

from hubqueue.admin.typed import TYPED, typed
from hubqueue.admin.verbs import ReasonForm

MOST_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb of a page. ``do(row, actor, reason)`` raises ``refusal`` for a refusal: an error with a ``code``.

    ``done`` says afterwards what happened and what comes next, ``name`` what a row is called. What ``form`` asks
    besides the reason is given to ``do`` by name. ``typed`` is what has to be typed before a verb is done that
    destroys; such a verb is for one row at a time.
    """

    word: str
    label: str
    explanation: str
    permission: str
    done: str
    do: Callable[..., object]
    refusal: type[Exception] | tuple[type[Exception], ...]
    name: Callable[[Any], str] = str
    form: type[ReasonForm] = ReasonForm
    typed: Callable[[Any], str] | None = None

    def form_for(self, rows: list[Any]) -> type[ReasonForm]:
        """What is asked for these rows. Raises ``ValueError`` for a typed verb and any number of rows but one."""
        if self.typed is None:
            return self.form
        if len(rows) != 1:
            raise ValueError(f"{self.word} is typed for one row at a time, got {len(rows)}")
        return typed(self.form, self.typed(rows[0]))


def ask_and_do(
    page: admin.ModelAdmin[Any],
    request: HttpRequest,
    queryset: QuerySet[Any],
    verb: Verb,
    *,
    back: str = "",
) -> HttpResponse | None:
    """Ask why on a page of its own; with an answer do the verb row by row and say what came of each.

    ``back`` is where who changes their mind goes; empty = where the request came from.
    """
    if not request.user.has_perm(verb.permission):
        page.message_user(request, f"You may not {verb.word} these.", messages.ERROR)
        return None
    chosen = list(queryset[:MOST_AT_ONCE])
    if verb.typed is not None and len(chosen) != 1:
        page.message_user(request, f"Choose exactly one to {verb.word}.", messages.ERROR)
        return None
    form = verb.form_for(chosen)(request.POST if "confirmed" in request.POST else None)
    if form.is_valid():
        for row in chosen:
            _do(page, request, row, verb, form.cleaned_data)
        return None
    context = {
        **page.admin_site.each_context(request),
        "opts": page.opts,
        "media": page.media,
        "title": verb.label,
        "verb": verb,
        "form": form,
        "danger": verb.typed is not None,
        "rows": [(row, verb.name(row)) for row in chosen],
        "back": back or request.get_full_path(),
    }
    return TemplateResponse(request, "admin/hubqueue/ask.html", context)


def _do(
    page: admin.ModelAdmin[Any], request: HttpRequest, row: Any, verb: Verb, given: dict[str, Any]
) -> None:
    more = {name: value for name, value in given.items() if name not in {"reason", TYPED}}
    try:
        verb.do(row, request.user.get_username(), given["reason"], **more)
    except verb.refusal as refused:
        code = getattr(refused, "code", type(refused).__name__)
        said = f"{capfirst(verb.name(row))}: refused. {capfirst(str(refused))} ({code})"
        page.message_user(request, said, messages.ERROR)
        return
    LogEntry.objects.create(
        user_id=str(request.user.pk),
        content_type=ContentType.objects.get_for_model(row),
        object_id=str(row.pk),
        object_repr=verb.name(row)[:200],
        action_flag=CHANGE,
        change_message=f"{verb.label}: {given['reason']}",
    )
    page.message_user(request, f"{capfirst(verb.name(row))}: {verb.done}", messages.SUCCESS)
