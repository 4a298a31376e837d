"""What the scheduler counts, fed by its signals."""

from typing import Any

from django.dispatch import receiver
from prometheus_client import Counter, Gauge

from hubqueue import signals

LAG = Gauge(
    "hubqueue_scheduler_lag_seconds",
    "Seconds by which the last tick came after the moment it was due.",
    multiprocess_mode="livemax",
)
LEADING = Gauge(
    "hubqueue_scheduler_leading",
    "1 while the scheduler of this worker leads.",
    multiprocess_mode="livemax",
)
DUTIES = Counter(
    "hubqueue_duties_ended",
    "Duties that ended, by code; an empty code is success.",
    ["duty", "code"],
)
RESEEDED = Counter(
    "hubqueue_pollers_reseeded", "Pollers that had died and were enqueued again.", ["kind"]
)
FIRED = Counter("hubqueue_periodic_ticks", "Periodic ticks that became a job.", ["schedule"])


@receiver(signals.scheduler_ticked, dispatch_uid="hubqueue.scheduler.ticked")
def note_tick(*, lag: float, leading: bool, **_: Any) -> None:
    """Keep the last lag, and whether this process leads."""
    LAG.set(lag)
    LEADING.set(float(leading))


@receiver(signals.duty_ended, dispatch_uid="hubqueue.scheduler.duty")
def count_duty(*, duty: str, code: str, **_: Any) -> None:
    """Count a duty by how it ended."""
    DUTIES.labels(duty, code).inc()


@receiver(signals.poller_reseeded, dispatch_uid="hubqueue.scheduler.poller")
def count_reseeded(*, kind: str, **_: Any) -> None:
    """Count a poller that had died."""
    RESEEDED.labels(kind).inc()


@receiver(signals.tick_fired, dispatch_uid="hubqueue.scheduler.fired")
def count_fired(*, schedule: str, **_: Any) -> None:
    """Count a periodic tick that became a job."""
    FIRED.labels(schedule).inc()
