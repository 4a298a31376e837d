"""The pages of people: what they choose, and the way out that a mail carries."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from notifications.categories import category
from notifications.errors import CategoryUnknown, NotificationError, PreferenceRefused
from notifications.forms import PreferencesForm
from notifications.preferences import switch_off
from notifications.rendering import language_of
from notifications.unsubscribe import ONE_CLICK, read

LONGEST_BODY = 4096


@csrf_exempt  # mail providers post without a cookie; the token in the address is what allows it
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """Switch one kind of mail of one person off, as RFC 8058 says; repeated, it changes nothing more.

    Opening the address only shows the button: programs that look for bad links open every one.
    """
    switch = read(token)
    person = None if switch is None else _person_of(switch.person)
    if switch is None or person is None:
        return _unsubscribe_page(request, "unknown", code=404)
    with override(language_of(person)):
        try:
            label = str(category(switch.category).label)
        except CategoryUnknown:
            return _unsubscribe_page(request, "unknown", code=404)
        if request.method != "POST":
            return _unsubscribe_page(request, "ask", label)
        if not _is_one_click(request):
            return _unsubscribe_page(request, "ask", label, code=400)
        try:
            switch_off(person, switch.category, switch.channel)
        except PreferenceRefused as refused:
            return _unsubscribe_page(request, "refused", label, code=409, refusal=str(refused))
        return _unsubscribe_page(request, "done", label)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def preferences(request: HttpRequest) -> HttpResponse:
    """What the person who is logged in chose, theirs alone. Only what they changed on the page is written."""
    with override(language_of(request.user)):
        form = PreferencesForm(request.user, request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            _say(request, form)
            return HttpResponseRedirect(reverse("notifications:preferences"))
        code = 400 if form.is_bound else 200
        return render(request, "notifications/preferences.html", {"form": form}, status=code)


def _say(request: HttpRequest, form: PreferencesForm) -> None:
    try:
        changed = form.save()
    except NotificationError as refused:
        messages.error(request, str(refused))
        return
    with override(language_of(_person_of(request.user.pk))):  # which may be another one now
        for sentence in changed():
            messages.success(request, sentence)
        if not form.changed_data:
            messages.info(request, _("Nothing was changed."))


def _person_of(key: Any) -> Any:
    return get_user_model()._default_manager.filter(pk=key).first()


def _is_one_click(request: HttpRequest) -> bool:
    """The form of RFC 8058 and nothing beside it."""
    if len(request.body) > LONGEST_BODY:
        return False
    name, wanted = ONE_CLICK
    return dict(request.POST.lists()) == {name: [wanted]} and not request.FILES


def _unsubscribe_page(
    request: HttpRequest, stands: str, label: str = "", *, code: int = 200, refusal: str = ""
) -> HttpResponse:
    name, wanted = ONE_CLICK
    context = {
        "stands": stands,
        "label": label,
        "refusal": refusal,
        "name": name,
        "wanted": wanted,
    }
    return render(request, "notifications/unsubscribe.html", context, status=code)
