"""What stands above everything on the admin's first page: a block of each application that has one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Overview:
    """A block: its template, what the template is given, and the permission without which nobody sees it."""

    template: str
    context: Callable[[], dict[str, Any]]
    permission: str


_overviews: dict[str, Overview] = {}


def add(overview: Overview) -> None:
    """Show a block after those that are there. The same template again replaces its block."""
    _overviews[overview.template] = overview


def overviews() -> list[Overview]:
    """The blocks, in the order in which they were added."""
    return list(_overviews.values())
