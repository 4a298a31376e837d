"""A person's own page."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from notifications.decision import address_of


@never_cache
@login_required(login_url="accounts-login")
@require_safe
def own(request: HttpRequest) -> HttpResponse:
    """Who is logged in, and what they may change."""
    context = {"title": _("Your account"), "address": address_of(request.user)}
    return render(request, "accounts/own.html", context)
