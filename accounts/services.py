"""What pages, officers and other applications ask of this app."""

from accounts.addresses import confirm_address, request_address_change
from accounts.forgotten import forgot_password
from accounts.inviting import invite, invite_again
from accounts.passwords import look_at_link, set_password
from accounts.ways_in import way_in_changed

__all__ = [
    "confirm_address",
    "forgot_password",
    "invite",
    "invite_again",
    "look_at_link",
    "request_address_change",
    "set_password",
    "way_in_changed",
]
