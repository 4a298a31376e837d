"""The pages of the accounts app."""

from accounts.admin import invitations

__all__ = ["invitations"]
