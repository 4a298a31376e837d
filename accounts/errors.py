"""What this app refuses, each with a stable code and a sentence that holds no value and names nobody."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class AccountError(Exception):
    """Raised for a request that cannot be served. ``sentence`` is for the person who asked."""

    code = "accounts.error"
    sentence: str | Promise = ""

    def __str__(self) -> str:
        return f"{self.sentence} ({self.code})"


class LinkRefused(AccountError):
    """A link does nothing. Which of the three it was is safe to tell: whoever has the link got it by mail."""


class LinkUnknown(LinkRefused):
    """No link like this was ever mailed for this purpose, or so long ago that its record is purged."""

    code = "accounts.link_unknown"
    sentence = _("This link is not complete, or is not one of ours.")


class LinkExpired(LinkRefused):
    """It was mailed too long ago."""

    code = "accounts.link_expired"
    sentence = _("This link has expired.")


class LinkSpent(LinkRefused):
    """It was used, a newer one took its place, or the account has changed since."""

    code = "accounts.link_spent"
    sentence = _("This link was used already, or a newer one took its place.")


class TooMany(AccountError):
    """A person asked too often within the window."""

    code = "accounts.too_many"
    sentence = _("That was too often. Please try again later.")


class AccountExists(AccountError):
    """Whoever is invited has an account."""

    code = "accounts.account_exists"
    sentence = _("There is an account with this address already.")


class InvitationAccepted(AccountError):
    """An invitation cannot be sent again: its account has a password."""

    code = "accounts.invitation_accepted"
    sentence = _("This invitation was accepted already.")
