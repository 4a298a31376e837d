"""One key-value line per thing an operator must know. JSON for machines, a readable line on a terminal.

Lines carry codes, kinds, ids and counts. Never a payload, a result or an exception's message.
"""

import logging
import sys
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.dispatch import receiver

from hubqueue import signals
from hubqueue.states import Move, State

LOGGER = "hubqueue.events"
FORMATS = ("json", "console")

_logger = logging.getLogger(LOGGER)
_log = structlog.stdlib.get_logger(LOGGER)


def configure() -> None:
    """Choose the format and where lines go. Call it once, when the settings are read.

    ``HUBQUEUE_LOG_FORMAT`` is ``json`` or ``console``; unset, a terminal gets the readable form. Lines go to
    standard error unless ``LOGGING`` gives ``hubqueue.events`` handlers of its own. structlog's global
    configuration is left alone. Raises ``ImproperlyConfigured`` for another format.
    """
    global _log
    chosen = getattr(settings, "HUBQUEUE_LOG_FORMAT", None) or _fitting()
    if chosen not in FORMATS:
        raise ImproperlyConfigured(
            f"HUBQUEUE_LOG_FORMAT must be one of {', '.join(FORMATS)}, got {chosen!r}."
        )
    _log = structlog.wrap_logger(
        _logger,
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _renderer(chosen),
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    if not _logger.handlers:
        plain = _StandardError()
        plain.setFormatter(logging.Formatter("%(message)s"))
        _logger.addHandler(plain)
        _logger.propagate = False
    if _logger.level == logging.NOTSET:
        _logger.setLevel(logging.INFO)


class _StandardError(logging.StreamHandler[Any]):
    """Writes to what ``sys.stderr`` is now, not to what it was at start."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        return sys.stderr

    @stream.setter
    def stream(self, _: Any) -> None:
        raise AttributeError("the stream is always sys.stderr")


def _fitting() -> str:
    return "console" if sys.stderr.isatty() else "json"


def _renderer(chosen: str) -> Any:
    if chosen == "json":
        return structlog.processors.JSONRenderer(sort_keys=True)
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())


@receiver(signals.jobs_settled, dispatch_uid="hubqueue.logs.settled")
def log_settled(*, endings: Sequence[signals.Ending], **_: Any) -> None:
    for each in endings:
        if each.state == State.DEAD:
            _log.error("dead letter", **_facts(each))
        elif each.code or each.outcome == Move.RETRY:
            _log.warning("attempt failed", **_facts(each))


def _facts(ending: signals.Ending) -> dict[str, Any]:
    return {
        "job": str(ending.id),
        "kind": ending.kind,
        "queue": ending.queue,
        "state": str(ending.state),
        "outcome": str(ending.outcome),
        "code": ending.code,
        "seconds": round(ending.seconds, 3),
        "attempt": ending.attempt,
    }


@receiver(signals.job_rescued, dispatch_uid="hubqueue.logs.rescued")
def log_rescued(*, job_id: UUID, kind: str, queue: str, cause: str, spent: bool, **_: Any) -> None:
    _log.warning(
        "job rescued",
        job=str(job_id),
        kind=kind,
        queue=queue,
        cause=str(cause),
        spent=bool(spent),
    )


@receiver(signals.lease_lost, dispatch_uid="hubqueue.logs.lease_lost")
def log_lease_lost(*, kind: str, **_: Any) -> None:
    _log.warning("lease lost", kind=kind)


@receiver(signals.verb_done, dispatch_uid="hubqueue.logs.verb")
def log_verb(*, verb: str, target: object, actor: str, **_: Any) -> None:
    _log.info("officer's verb", verb=str(verb), target=str(target), actor=actor)


@receiver(signals.worker_changed, dispatch_uid="hubqueue.logs.worker")
def log_worker(*, worker: object, event: str, **_: Any) -> None:
    say = _log.warning if event in {"died", "killed"} else _log.info
    say("worker " + str(event), worker=str(worker))


@receiver(signals.duty_ended, dispatch_uid="hubqueue.logs.duty")
def log_duty(*, duty: str, code: str, seconds: float, **_: Any) -> None:
    if code:
        _log.warning("duty failed", duty=duty, code=code, seconds=round(seconds, 3))


@receiver(signals.poller_reseeded, dispatch_uid="hubqueue.logs.poller")
def log_poller(*, kind: str, queue: str, **_: Any) -> None:
    _log.warning("poller had died", kind=kind, queue=queue)
