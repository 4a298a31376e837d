"""The queue's own handlers: those of ``hubqueue.backend``, in a project whose setting ``TASKS`` names it.

A worker imports this module at start like every application's ``handlers``; elsewhere it registers nothing,
and the framework behind the setting need not be installed.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

BACKEND = "hubqueue.backend.HubQueueBackend"


def names_ours(entries: Iterable[dict[str, Any]]) -> bool:
    """Whether an entry of ``TASKS`` names our backend or a subclass of it."""
    paths = [str(each.get("BACKEND")) for each in entries]
    return BACKEND in paths or any(_is_subclass(path) for path in paths)


def _is_subclass(path: str) -> bool:
    try:
        named = import_string(path)
    except ImportError:  # Django says so where the entry is used
        return False
    return any(
        f"{each.__module__}.{each.__qualname__}" == BACKEND
        for each in getattr(named, "__mro__", ())
    )


if names_ours((getattr(settings, "TASKS", None) or {}).values()):
    import_module("hubqueue.backend.run")
