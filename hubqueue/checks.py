"""What `manage.py check` says about the queue's settings and handlers."""

from typing import Any

from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Caution
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS

from hubqueue.conf import Conf, conf
from hubqueue.lifecycle.database import alias
from hubqueue.registry import Registry, registry


@register("hubqueue")
def check_settings(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Settings against each other, handlers against settings."""
    try:
        current = conf()
    except ImproperlyConfigured as problem:
        return [Error(str(problem), id="hubqueue.E000")]
    return [Error(text, id=check_id) for check_id, text in problems(current, registry)]


@register("hubqueue")
def check_alias(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """The queue beside the application's rows: elsewhere, the two commit by themselves."""
    if alias() == DEFAULT_DB_ALIAS:
        return []
    return [
        Caution(
            f"The routers put the queue's rows on {alias()!r}: an enqueue inside atomic() of"
            f" {DEFAULT_DB_ALIAS!r} is not rolled back with it, and a handler's writes there do not commit with"
            " the job's completion.",
            hint=f"Keep both on one alias, or use atomic(using={alias()!r}) and silence this check.",
            id="hubqueue.W001",
        )
    ]


def problems(current: Conf, known: Registry) -> list[tuple[str, str]]:
    """Every contradiction as (check id, sentence)."""
    found = current.problems()
    for handler in known.handlers.values():
        if handler.queue not in current.queues:
            found.append(
                (
                    "hubqueue.E005",
                    f"{handler.kind}: its queue {handler.queue!r} is none of QUEUES ({', '.join(current.queues)}).",
                )
            )
        if not handler.detached and handler.timeout >= current.lease:
            found.append(
                (
                    "hubqueue.E006",
                    f"{handler.kind}: the timeout of a transactional handler must be below LEASE"
                    f" ({current.lease.total_seconds():g} s), got {handler.timeout.total_seconds():g} s:"
                    " shorten it, or mark the handler detached=True.",
                )
            )
    return found
