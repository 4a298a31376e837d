"""Every kind of job of this app, for the queue to find, and its duty."""

from accounts import purge
from accounts.address_handlers import address_confirmation, address_left
from accounts.reset_handler import password_reset, password_reset_request
from accounts.told_handlers import invitation, way_in_changed

__all__ = [
    "address_confirmation",
    "address_left",
    "invitation",
    "password_reset",
    "password_reset_request",
    "purge",
    "way_in_changed",
]
