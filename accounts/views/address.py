"""A new address: asked for by its person, who is logged in, and confirmed with a link."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from accounts import limits, services
from accounts.conf import conf
from accounts.errors import LinkRefused, TooMany
from accounts.forms import AddressForm
from accounts.views.links import refusal
from accounts.views.pages import link_page
from notifications.errors import AddressUnsendable


@sensitive_post_parameters("new_address", "current_password")
@sensitive_variables()
@never_cache
@login_required(login_url="accounts-login")
@require_http_methods(["GET", "HEAD", "POST"])
def change_address(request: HttpRequest) -> HttpResponse:
    """Ask for the new address and the current password; then a link is on its way."""
    form = AddressForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and _is_asked_for(request, form):
        context = {"title": _("Look into your mailbox"), "minutes": conf().accounts_link_minutes}
        return render(request, "accounts/address_sent.html", context)
    return render(request, "accounts/address.html", {"title": _("Change address"), "form": form})


@sensitive_variables()
def _is_asked_for(request: HttpRequest, form: AddressForm) -> bool:
    """Guesses of the password are counted: a session that was left open is no place to find it out."""
    said = form.cleaned_data
    if limits.passed([limits.per_guesser(request.user.pk)]):
        form.add_error("current_password", TooMany.sentence)
    elif not request.user.check_password(said["current_password"]):
        form.add_error("current_password", _("This is not your password."))
    else:
        try:
            services.request_address_change(request.user, said["new_address"])
        except TooMany as refused:
            form.add_error(None, refused.sentence)
        except AddressUnsendable:
            form.add_error("new_address", _("No mail can be sent to this address."))
    return form.is_valid()


@link_page
@require_safe
def confirm(request: HttpRequest) -> HttpResponse:
    """Where the link leads. A person has to say yes: programs that look at mails open links, too."""
    return render(request, "accounts/confirm.html", {"title": _("Confirm your address")})


@sensitive_post_parameters("token")
@sensitive_variables()
@link_page
@require_http_methods(["GET", "HEAD", "POST"])
def confirm_address(request: HttpRequest) -> HttpResponse:
    """Use the link."""
    if request.method != "POST":
        return HttpResponseRedirect(reverse("accounts-confirm-address"))
    try:
        services.confirm_address(request.POST.get("token", "").strip())
    except LinkRefused as refused:
        return refusal(request, refused, again=reverse("accounts-change-address"))
    return render(request, "accounts/address_confirmed.html", {"title": _("Address confirmed")})
