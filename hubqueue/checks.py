"""What `manage.py check` says about the queue's settings and handlers."""

from typing import Any

from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from hubqueue.conf import Conf, conf
from hubqueue.registry import Registry, registry


@register("hubqueue")
def check_settings(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Settings against each other, handlers against settings."""
    try:
        current = conf()
    except ImproperlyConfigured as problem:
        return [Error(str(problem), id="hubqueue.E000")]
    return [Error(text, id=check_id) for check_id, text in problems(current, registry)]


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
