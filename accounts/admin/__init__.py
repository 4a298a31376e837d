"""The pages of the accounts app."""

from accounts.admin import invitations, people

__all__ = ["invitations", "people"]
