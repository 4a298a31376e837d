"""The block about mail on the admin's first page and above the list of messages."""

from typing import Any

from django import template

from notifications.admin.now import pauses, tiles

register = template.Library()


@register.inclusion_tag("admin/notifications/now.html")
def mail_now() -> dict[str, Any]:
    """Counts per state with links, and what holds mail up."""
    return {"tiles": tiles(), "pauses": pauses()}
