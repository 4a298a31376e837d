"""The forms of the account pages."""

from typing import Any

from django import forms
from django.contrib.auth import password_validation
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.core.validators import ProhibitNullCharactersValidator
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_variables

from accounts.backend import was_barred
from accounts.errors import TooMany


class TiedForm(forms.Form):
    """Errors and hints are tied to their fields, for those who do not see them side by side."""

    def __init__(self, given: Any = None) -> None:
        super().__init__(given, label_suffix="")

    def add_error(self, field: str | None, error: Any) -> None:
        """The first field that is wrong is the one to begin with."""
        super().add_error(field, error)
        wrong = [name for name in self.fields if name in self.errors]
        if wrong:
            for each in self.fields.values():
                each.widget.attrs.pop("autofocus", None)
            self.fields[wrong[0]].widget.attrs["autofocus"] = True


class SaysWhenToWait:
    """Of a form that logs in: whoever has to wait reads so, whatever the password was."""

    request: HttpRequest | None

    def get_invalid_login_error(self) -> ValidationError:
        if was_barred(self.request):
            return ValidationError(TooMany.sentence, code=TooMany.code)
        error: ValidationError = super().get_invalid_login_error()  # type: ignore[misc]
        return error


class LoginForm(SaysWhenToWait, AuthenticationForm):
    """Django's own otherwise."""


class ForgottenForm(TiedForm):
    address = forms.EmailField(
        label=_("Address"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email", "autofocus": True}),
    )


class PasswordForm(TiedForm):
    """A new password, twice. Whether it is good enough is for the service to say."""

    new_password = forms.CharField(
        label=_("New password"),
        strip=False,
        max_length=1000,
        validators=[ProhibitNullCharactersValidator()],
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "autofocus": True}),
        help_text=password_validation.password_validators_help_text_html(),
    )
    repeated = forms.CharField(
        label=_("The same again"),
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    @sensitive_variables()
    def clean(self) -> dict[str, Any]:
        said = super().clean() or {}
        first, second = said.get("new_password"), said.get("repeated")
        if first and second and first != second:
            self.add_error("repeated", _("The two passwords differ."))
        return said


class AddressForm(TiedForm):
    """The current password, so that a session that was left open is not enough."""

    new_address = forms.EmailField(
        label=_("New address"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email", "autofocus": True}),
    )
    current_password = forms.CharField(
        label=_("Current password"),
        strip=False,
        max_length=1000,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
