"""Webhooks: events told to endpoints of others, signed, at least once, for about a day."""
