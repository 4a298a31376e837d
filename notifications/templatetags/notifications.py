"""The blocks above the officers' lists."""

from typing import Any

from django import template

from notifications.admin import held
from notifications.admin.now import now

register = template.Library()


@register.inclusion_tag("admin/notifications/now.html")
def mail_now() -> dict[str, Any]:
    """Counts per state with links, and what holds mail up."""
    return now()


@register.inclusion_tag("admin/notifications/held.html", takes_context=True)
def mail_held(context: template.Context) -> dict[str, Any]:
    """What a restore set aside of mail; nothing when there is none."""
    return {**held.mail(), "perms": context["perms"]}


@register.inclusion_tag("admin/notifications/held.html", takes_context=True)
def webhooks_held(context: template.Context) -> dict[str, Any]:
    """The same of webhooks."""
    return {**held.webhooks(), "perms": context["perms"]}
