"""The pages of the leads app."""

from leads.admin import imports, neighbours, records, requests, rules

__all__ = ["imports", "neighbours", "records", "requests", "rules"]
