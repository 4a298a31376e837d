"""What a person chooses: which mails they get, and in which language."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import router, transaction
from django.utils.translation import gettext as _

from hubqueue.querysets import Now
from notifications.categories import category
from notifications.errors import PreferenceRefused
from notifications.models import Channel, Preference, Reader


def switch_off(person: Any, name: str, channel: str = Channel.MAIL) -> bool:
    """The person (an account or its key) gets no mail of this category from now on.

    Those recorded and not sent yet are not sent either. Answers whether it was on. Raises
    ``CategoryUnknown``, or ``PreferenceRefused`` for a category that cannot be switched off, and for a
    person who is gone.
    """
    _suppressible(name)
    with transaction.atomic(using=router.db_for_write(Preference)):
        return Preference.objects.get_or_create(
            person_id=_locked(person), category=name, channel=Channel(channel),
            defaults={"since": Now()},
        )[1]  # fmt: skip


def switch_on(person: Any, name: str, channel: str = Channel.MAIL) -> bool:
    """The person gets mail of this category again. Answers whether it was off. Raises as above."""
    _suppressible(name)
    with transaction.atomic(using=router.db_for_write(Preference)):
        count, _rows = Preference.objects.filter(
            person_id=_locked(person), category=name, channel=Channel(channel)
        ).delete()
    return bool(count)


def choose_language(person: Any, language: str) -> bool:
    """Write to the person in this language; empty = the installation's own. Answers whether that is new.

    Raises ``PreferenceRefused`` for a language the installation does not speak.
    """
    if language and language not in dict(settings.LANGUAGES):
        raise PreferenceRefused(_("This is no language we write in."))
    with transaction.atomic(using=router.db_for_write(Reader)):
        key = _locked(person)
        before = Reader.objects.filter(person_id=key).values_list("language", flat=True).first()
        if language == (before or ""):
            return False
        Reader.objects.update_or_create(person_id=key, defaults={"language": language})
    return True


def _suppressible(name: str) -> None:
    if not category(name).suppressible:
        raise PreferenceRefused(_("This kind of mail cannot be switched off."))


def _locked(person: Any) -> Any:
    """The person's key, their row locked: two changes of one person come one after the other."""
    rows = get_user_model()._default_manager.using(router.db_for_write(Preference))
    key = getattr(person, "pk", person)
    found = rows.select_for_update(no_key=True).filter(pk=key).values_list("pk", flat=True).first()
    if found is None:
        raise PreferenceRefused(_("There is no such account any more."))
    return found
