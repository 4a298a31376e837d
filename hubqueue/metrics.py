"""Counters and histograms, fed by the signals of the moves. Names and labels: docs/metrics.md.

Labels are kind, queue, state, outcome and code, each out of a bounded set: never a tenant, an id or a value.
Import this before the first job is counted; with ``PROMETHEUS_MULTIPROC_DIR`` set it counts across processes.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar

from django.dispatch import receiver
from prometheus_client import Counter

from hubqueue import signals
from hubqueue.conf import conf
from hubqueue.durations import Durations
from hubqueue.registry import registry
from hubqueue.states import State

T = TypeVar("T")

UNKNOWN = "(unknown)"
OTHER = "(other)"
MOST_CODES = 200

RUN_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200)
WAIT_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1800, 7200, 86400)

ENQUEUED = Counter(
    "hubqueue_jobs_enqueued",
    "Requests that were stored, by what became of them: new, collapsed, rerun, parked.",
    ["kind", "queue", "outcome"],
)
CLAIMED = Counter("hubqueue_jobs_claimed", "Attempts that were started.", ["kind", "queue"])
PICKUP = Durations(
    "hubqueue_pickup_seconds",
    "Seconds between the moment a job was due and its claim.",
    ["kind", "queue"],
    buckets=WAIT_SECONDS,
)
SETTLED = Counter(
    "hubqueue_jobs_settled",
    "Attempts that ended, by the state the job is in now and the move that brought it there.",
    ["kind", "queue", "state", "outcome"],
)
DURATION = Durations(
    "hubqueue_attempt_seconds",
    "Seconds between the claim of an attempt and its end.",
    ["kind", "queue"],
    buckets=RUN_SECONDS,
)
FAILED = Counter(
    "hubqueue_attempts_failed",
    "Attempts that ended with a failure code.",
    ["kind", "code"],
)
DEAD = Counter(
    "hubqueue_dead_letters", "Jobs that were given up, by their last code.", ["kind", "code"]
)
RESCUED = Counter(
    "hubqueue_jobs_rescued",
    "Jobs taken back from a worker that is gone, by how that was seen and whether an attempt was spent.",
    ["kind", "queue", "cause", "spent"],
)
LEASE_LOST = Counter(
    "hubqueue_lease_lost", "Writes of attempts that no longer held their job: refused.", ["kind"]
)
VERBS = Counter("hubqueue_verbs", "What officers did.", ["verb"])
WORKERS = Counter(
    "hubqueue_worker_events",
    "Worker children that started, ended, were killed, recycled.",
    ["event"],
)


class Bounded:
    """The first ``most`` different words as they are; every later one is ``(other)``."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._seen: set[str] = set()

    def __call__(self, word: object) -> str:
        text = str(word)
        if text in self._seen:
            return text
        if len(self._seen) >= self._most:
            return OTHER
        self._seen.add(text)
        return text


_code = Bounded(MOST_CODES)
_cause = Bounded(20)
_verb = Bounded(20)
_event = Bounded(20)


def kind_label(kind: str) -> str:
    """The kind under which a handler registered; former names count under it; ``(unknown)`` for the rest."""
    handler = registry.find(kind)
    return UNKNOWN if handler is None else handler.kind


def queue_label(queue: str) -> str:
    """The queue, when the settings name it."""
    return queue if queue in conf().queues else UNKNOWN


def _grouped(
    told: Sequence[T], words: Callable[[T], tuple[str, ...]]
) -> Iterable[tuple[tuple[str, ...], list[T]]]:
    """What was told, by its ``words``: the labels of a batch are looked up once."""
    groups: dict[tuple[str, ...], list[T]] = {}
    for each in told:
        groups.setdefault(words(each), []).append(each)
    return groups.items()


# To find what counts under its labels costs more than to count, and is done for each job.
@lru_cache(maxsize=1000)
def _counted_claimed(kind: str, queue: str) -> tuple[Counter, Durations]:
    return CLAIMED.labels(kind, queue), PICKUP.labels(kind, queue)


@lru_cache(maxsize=1000)
def _counted_settled(kind: str, queue: str, state: str, outcome: str) -> tuple[Counter, Durations]:
    return SETTLED.labels(kind, queue, str(state), str(outcome)), DURATION.labels(kind, queue)


def known_queues() -> tuple[str, ...]:
    """The queues of the settings, for gauges that publish a zero."""
    return conf().queues


@receiver(signals.job_enqueued, dispatch_uid="hubqueue.metrics.enqueued")
def count_enqueued(*, kind: str, queue: str, outcome: str, count: int = 1, **_: Any) -> None:
    ENQUEUED.labels(kind_label(kind), queue_label(queue), str(outcome)).inc(count)


@receiver(signals.jobs_claimed, dispatch_uid="hubqueue.metrics.claimed")
def count_claimed(*, pickups: Sequence[signals.Pickup], **_: Any) -> None:
    for (kind, queue), picked in _grouped(pickups, attrgetter("kind", "queue")):
        claimed, waited = _counted_claimed(kind_label(kind), queue_label(queue))
        claimed.inc(len(picked))
        waited.observe_all([each.waited for each in picked])


@receiver(signals.jobs_settled, dispatch_uid="hubqueue.metrics.settled")
def count_settled(*, endings: Sequence[signals.Ending], **_: Any) -> None:
    alike = _grouped(endings, attrgetter("kind", "queue", "state", "outcome", "code"))
    for (kind, queue, state, outcome, code), ended in alike:
        name = kind_label(kind)
        settled, took = _counted_settled(name, queue_label(queue), state, outcome)
        settled.inc(len(ended))
        took.observe_all([each.seconds for each in ended])
        if code:
            FAILED.labels(name, _code(code)).inc(len(ended))
        if state == State.DEAD:
            DEAD.labels(name, _code(code or OTHER)).inc(len(ended))


@receiver(signals.job_rescued, dispatch_uid="hubqueue.metrics.rescued")
def count_rescued(*, kind: str, queue: str, cause: str, spent: bool, **_: Any) -> None:
    RESCUED.labels(
        kind_label(kind), queue_label(queue), _cause(cause), "yes" if spent else "no"
    ).inc()


@receiver(signals.lease_lost, dispatch_uid="hubqueue.metrics.lease_lost")
def count_lease_lost(*, kind: str, **_: Any) -> None:
    LEASE_LOST.labels(kind_label(kind)).inc()


@receiver(signals.verb_done, dispatch_uid="hubqueue.metrics.verbs")
def count_verb(*, verb: str, **_: Any) -> None:
    VERBS.labels(_verb(verb)).inc()


@receiver(signals.worker_changed, dispatch_uid="hubqueue.metrics.workers")
def count_worker_event(*, event: str, **_: Any) -> None:
    WORKERS.labels(_event(event)).inc()
