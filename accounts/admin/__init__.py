"""The pages of the accounts app."""

from accounts.admin import invitations, login, people

__all__ = ["invitations", "login", "people"]
