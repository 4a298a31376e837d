"""The blocks on the admin's first page."""

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from hubqueue.admin.cells import when
from hubqueue.admin.overviews import overviews

register = template.Library()

register.filter("when", when)


@register.simple_tag(takes_context=True)
def first_page_blocks(context: template.Context) -> SafeString:
    """The block of every application that has one and whose rows this person may see."""
    request = context["request"]
    return format_html_join(
        "\n",
        "{}",
        (
            (render_to_string(each.template, each.context(), request),)
            for each in overviews()
            if request.user.has_perm(each.permission)
        ),
    )
