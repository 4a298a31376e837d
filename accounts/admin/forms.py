"""What an officer says about whom they invite."""

from django import forms
from django.conf import settings
from django.core.validators import ProhibitNullCharactersValidator

NO_NULL = [ProhibitNullCharactersValidator()]


class InviteForm(forms.Form):
    first_name = forms.CharField(max_length=150, required=False, validators=NO_NULL)
    last_name = forms.CharField(max_length=150, required=False, validators=NO_NULL)
    address = forms.EmailField(
        max_length=150,
        help_text="The mail with the link goes there. It is the name to log in with, too.",
    )
    language = forms.ChoiceField(
        choices=lambda: [("", "The usual one"), *settings.LANGUAGES],
        required=False,
        help_text="Mails to this person are written in it.",
    )
