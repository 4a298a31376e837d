"""The kinds of mails about an account. None of them can be switched off."""

from dataclasses import replace

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts import credentials
from accounts.conf import conf
from accounts.models import Credential, Invitation, WayIn, WayInChange
from notifications.categories import Category, Subject, register
from notifications.models import Notification

SAMPLE_TOKEN = "sample"  # noqa: S105 opens nothing


def password_reset(token: str) -> Subject:
    return _link("accounts-reset", token)


def address_confirmation(token: str) -> Subject:
    return _link("accounts-confirm-address", token)


def address_left() -> Subject:
    return Subject(path=reverse("accounts-login"))


def _link(page: str, token: str) -> Subject:
    """The token stands behind the #: no server, proxy or log on the way gets to see it."""
    return Subject({"minutes": conf().accounts_link_minutes}, path=f"{reverse(page)}#{token}")


def _invitation(record: Notification) -> Subject | None:
    """None once the invitation was accepted."""
    still_open = Invitation.objects.open().filter(pk=record.subject_id, person=record.recipient_id)
    return _link("accounts-welcome", "") if still_open.exists() else None


def _minted_invitation(record: Notification, subject: Subject) -> Subject:
    token = credentials.mint(record.recipient_id, Credential.Purpose.INVITATION)
    return replace(subject, path=_link("accounts-welcome", token).path)


def _way_in_changed(record: Notification) -> Subject | None:
    change = WayInChange.objects.filter(pk=record.subject_id, person=record.recipient_id).first()
    return None if change is None else _described(change)


def _described(change: WayInChange) -> Subject:
    values = {"what": change.what, "provider": change.provider}
    return Subject(values, path=reverse("admin_password_reset"))


def _never_recorded(record: Notification) -> None:
    """Mails that carry a credential or go to an address of no account have no record: see the handlers."""


PASSWORD_RESET = register(
    Category(
        "accounts.password_reset",
        _("A new password"),
        suppressible=False,
        describe=_never_recorded,
        sample=lambda: password_reset(SAMPLE_TOKEN),
    )
)
ADDRESS_CONFIRMATION = register(
    Category(
        "accounts.address_confirmation",
        _("Confirm an address"),
        suppressible=False,
        describe=_never_recorded,
        sample=lambda: address_confirmation(SAMPLE_TOKEN),
    )
)
ADDRESS_LEFT = register(
    Category(
        "accounts.address_left",
        _("The address of your account was changed"),
        suppressible=False,
        describe=_never_recorded,
        sample=address_left,
    )
)
INVITATION = register(
    Category(
        "accounts.invitation",
        _("An invitation"),
        suppressible=False,
        describe=_invitation,
        sample=lambda: _link("accounts-welcome", SAMPLE_TOKEN),
        mint=_minted_invitation,
    )
)
WAY_IN_CHANGED = register(
    Category(
        "accounts.way_in_changed",
        _("A way into your account was changed"),
        suppressible=False,
        describe=_way_in_changed,
        sample=lambda: _described(WayInChange(what=WayIn.PASSWORD)),
    )
)
