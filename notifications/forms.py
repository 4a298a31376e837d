"""The form of what a person chooses."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import get_language_info, override
from django.utils.translation import gettext as _

from notifications.categories import categories, category
from notifications.models import Channel, Preference, Reader
from notifications.preferences import choose_language, switch_off, switch_on

PREFIX = "mail-"


class PreferencesForm(forms.Form):
    """A language, and a switch for each kind of mail that can be switched off.

    The page carries what it showed, and only what differs from that is a change: a page left open over
    night does not undo what was chosen elsewhere since.
    """

    def __init__(self, person: Any, posted: Any = None) -> None:
        super().__init__(posted)
        self.person = person
        self.fields["language"] = forms.ChoiceField(
            label=_("Language"),
            choices=_languages,
            required=False,
            initial=_chosen_language(person),
            show_hidden_initial=True,
        )
        off = set(
            Preference.objects.filter(person=person, channel=Channel.MAIL).values_list(
                "category", flat=True
            )
        )
        for each in _by_label(suppressible=True):
            self.fields[PREFIX + each.name] = forms.BooleanField(
                label=each.label,
                required=False,
                initial=each.name not in off,
                show_hidden_initial=True,
            )

    def switches(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith(PREFIX)]

    def always(self) -> list[Any]:
        """The kinds of mail that cannot be switched off."""
        return _by_label(suppressible=False)

    def save(self) -> Callable[[], list[str]]:
        """Write what was changed; answers a function that says so in the language of the moment."""
        chosen = [(name, self.cleaned_data[name]) for name in self.changed_data]
        for name, value in chosen:
            if name == "language":
                choose_language(self.person, value)
            elif value:
                switch_on(self.person, name.removeprefix(PREFIX))
            else:
                switch_off(self.person, name.removeprefix(PREFIX))
        return lambda: [_said(name, value) for name, value in chosen]


def _said(name: str, value: Any) -> str:
    if name == "language":
        language = dict(_languages())[value]
        return _("Language: %(language)s.") % {"language": language}
    label = category(name.removeprefix(PREFIX)).label
    said = _("%(label)s: you get these mails.") if value else _("%(label)s: switched off.")
    return said % {"label": label}


def _languages() -> list[tuple[str, str]]:
    """Each by its own name; first the one of the installation."""
    named = {code: _own_name(code, str(name)) for code, name in settings.LANGUAGES}
    ours = named.get(settings.LANGUAGE_CODE, settings.LANGUAGE_CODE)
    return [("", _("As everywhere here (%(language)s)") % {"language": ours}), *named.items()]


def _own_name(code: str, name: str) -> str:
    try:
        with override(code):
            return str(get_language_info(code)["name_local"]).capitalize()
    except KeyError:
        return name


def _chosen_language(person: Any) -> str:
    found = Reader.objects.filter(person=person).values_list("language", flat=True).first()
    return found if found in dict(settings.LANGUAGES) else ""


def _by_label(*, suppressible: bool) -> list[Any]:
    found = [each for each in categories() if each.suppressible is suppressible]
    return sorted(found, key=lambda each: str(each.label).casefold())
