"""The block about mail above the list of messages."""

from typing import Any

from django import template

from notifications.admin.now import now

register = template.Library()


@register.inclusion_tag("admin/notifications/now.html")
def mail_now() -> dict[str, Any]:
    """Counts per state with links, and what holds mail up."""
    return now()
