"""The rows of the accounts app. None holds a token; addresses stand only in rows that live for a day."""

from accounts.models.addresses import AddressChange, AddressRequest, FormerAddress
from accounts.models.changes import WayIn, WayInChange
from accounts.models.credentials import Credential
from accounts.models.guesses import Guess
from accounts.models.invitations import Invitation
from accounts.models.tallies import Tally

__all__ = [
    "AddressChange",
    "AddressRequest",
    "Credential",
    "FormerAddress",
    "Guess",
    "Invitation",
    "Tally",
    "WayIn",
    "WayInChange",
]
