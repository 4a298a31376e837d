"""The officers' pages of the notifications app."""

from notifications.admin import records

__all__ = ["records"]
