"""A forgotten password: one answer, whether there is an account or not."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from accounts.clients import client_of
from accounts.conf import conf
from accounts.forms import ForgottenForm
from accounts.services import forgot_password


@sensitive_post_parameters("address")
@sensitive_variables()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def forgotten(request: HttpRequest) -> HttpResponse:
    """Ask for an address; the answer says nothing about it."""
    form = ForgottenForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        forgot_password(form.cleaned_data["address"], client_of(request))
        return HttpResponseRedirect(reverse("accounts-forgotten-sent"))
    context = {"title": _("Forgotten your password?"), "form": form}
    return render(request, "accounts/forgotten.html", context)


@require_safe
def forgotten_sent(request: HttpRequest) -> HttpResponse:
    context = {"title": _("Look into your mailbox"), "minutes": conf().accounts_link_minutes}
    return render(request, "accounts/forgotten_sent.html", context)
