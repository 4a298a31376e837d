"""The pages of an account."""

from accounts.views.address import change_address, confirm, confirm_address
from accounts.views.forgotten import forgotten, forgotten_sent
from accounts.views.links import new_password, reset, welcome
from accounts.views.own import own

__all__ = [
    "change_address",
    "confirm",
    "confirm_address",
    "forgotten",
    "forgotten_sent",
    "new_password",
    "own",
    "reset",
    "welcome",
]
