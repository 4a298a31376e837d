"""Where mailed links lead that set a password. The token comes behind the #; the page's script posts it."""

from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from accounts.errors import LinkRefused
from accounts.forms import PasswordForm
from accounts.models import Credential
from accounts.services import look_at_link, set_password
from accounts.views.pages import link_page


@link_page
@require_safe
def reset(request: HttpRequest) -> HttpResponse:
    """Where the link of a forgotten password leads."""
    return _landing(request, _("Set a new password"))


@link_page
@require_safe
def welcome(request: HttpRequest) -> HttpResponse:
    """Where the link of an invitation leads."""
    return _landing(request, _("Welcome"))


@sensitive_post_parameters("token", "new_password", "repeated")
@sensitive_variables()
@link_page
@require_http_methods(["GET", "HEAD", "POST"])
def new_password(request: HttpRequest) -> HttpResponse:
    """With a token alone: show the form, or say what is wrong with the link. With a password too: set it."""
    if request.method != "POST":
        return HttpResponseRedirect(reverse("accounts-reset"))
    token = request.POST.get("token", "").strip()
    form = PasswordForm(request.POST if "new_password" in request.POST else None)
    try:
        credential = look_at_link(token)
        if form.is_valid() and _is_set(token, form):
            return render(
                request, "accounts/password_set.html", {"title": _("Your password is set")}
            )
    except LinkRefused as refused:
        return refusal(request, refused)
    context = {"title": _title(credential), "form": form, "token": token}
    return render(request, "accounts/new_password.html", context)


@sensitive_variables()
def _is_set(token: str, form: PasswordForm) -> bool:
    try:
        set_password(token, form.cleaned_data["new_password"])
    except ValidationError as weak:
        form.add_error("new_password", weak)
        return False
    return True


def refusal(request: HttpRequest, refused: LinkRefused, **more: Any) -> HttpResponse:
    """Say what is wrong with the link, not whose it was, and how to get a new one."""
    context = {"title": _("This link does not work"), "sentence": refused.sentence, **more}
    return render(request, "accounts/refused.html", context)


def _landing(request: HttpRequest, title: str) -> HttpResponse:
    return render(request, "accounts/landing.html", {"title": title})


def _title(credential: Credential) -> str:
    if credential.purpose == Credential.Purpose.INVITATION:
        return _("Choose your password")
    return _("Set a new password")
