"""What the leads app counts, for Prometheus. Labels are kinds, sinks and codes, never values."""

from typing import Any

from django.dispatch import receiver
from prometheus_client import Counter, Histogram

from leads.signals import import_ended, pass_ended, sink_called

PASSES = Counter("leads_passes", "Passes that ended", ["kind"])
COUNTS = Counter(
    "leads_pass_counts", "What passes did, by the name of the count", ["kind", "count"]
)
SINK_SECONDS = Histogram(
    "leads_sink_seconds", "Calls of a sink outside the database", ["sink", "verb", "outcome"]
)
IMPORTED = Counter("leads_import_records", "Records of imported files", ["outcome"])


@receiver(pass_ended, dispatch_uid="leads.metrics.pass")
def count_pass(*, kind: str, sender: object = None, signal: object = None, **counts: Any) -> None:
    PASSES.labels(kind).inc()
    for name, count in counts.items():
        if count:
            COUNTS.labels(kind, name).inc(count)


@receiver(sink_called, dispatch_uid="leads.metrics.sink")
def count_call(*, sink: str, verb: str, outcome: str, seconds: float, **_: Any) -> None:
    SINK_SECONDS.labels(sink, verb, outcome).observe(seconds)


@receiver(import_ended, dispatch_uid="leads.metrics.import")
def count_import(*, sender: object = None, signal: object = None, **counts: int) -> None:
    for outcome, count in counts.items():
        if count:
            IMPORTED.labels(outcome).inc(count)
