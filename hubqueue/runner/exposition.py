"""The worker's metrics as one text: what its children counted, what it counted itself, and the queue's gauges."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Metric,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from hubqueue.gauges import GaugeCollector

OURS = "hubqueue_"
BIRTHDAYS = "_created"


class Sum(Collector):
    """Families of several sources as one: samples of the same name and labels are added up."""

    def __init__(self, sources: Iterable[Iterable[Metric]]) -> None:
        self._sources = sources

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        values: dict[str, dict[tuple[str, tuple[tuple[str, str], ...]], float]] = {}
        for source in self._sources:
            for family in source:
                families.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                found = values.setdefault(family.name, {})
                for sample in family.samples:
                    if not sample.name.endswith(BIRTHDAYS):
                        key = sample.name, tuple(sorted(sample.labels.items()))
                        found[key] = found.get(key, 0.0) + sample.value
        for name, family in families.items():
            family.samples = [
                Sample(sample, dict(labels), value)
                for (sample, labels), value in values[name].items()
            ]
            yield family


def exposition(metrics_dir: Path) -> tuple[str, bytes]:
    """The content type and the body of a scrape of the worker."""
    children = CollectorRegistry()
    MultiProcessCollector(children, path=str(metrics_dir))  # type: ignore[no-untyped-call]
    own = (family for family in REGISTRY.collect() if family.name.startswith(OURS))
    merged = CollectorRegistry()
    merged.register(Sum([children.collect(), own]))
    merged.register(GaugeCollector())
    return CONTENT_TYPE_LATEST, generate_latest(merged)
