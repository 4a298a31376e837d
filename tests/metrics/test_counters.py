"""What the counters count, and that their labels are bounded and give nothing away."""

import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from prometheus_client import REGISTRY

from hubqueue import metrics, signals
from hubqueue.durations import Durations
from hubqueue.lifecycle.claim import Lane, claim
from hubqueue.lifecycle.failure import Broken
from hubqueue.lifecycle.settle import give_up, settle, succeed
from hubqueue.models import Worker
from hubqueue.querysets import Now
from hubqueue.states import Move
from tests.conftest import CHECKOUT
from tests.support import handlers

KIND = handlers.typed.kind


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


class Grown:
    """How much a sample grew inside the block."""

    def __init__(self, name: str, **labels: str) -> None:
        self._name, self._labels = name, labels

    def __enter__(self) -> "Grown":
        self._before = value(self._name, **self._labels)
        return self

    def __exit__(self, *_: object) -> None:
        self.by = value(self._name, **self._labels) - self._before


@pytest.mark.django_db(transaction=True)
def test_a_job_is_counted_from_enqueue_to_its_end() -> None:
    worker = Worker.objects.create(
        id=uuid4(), host="h", pid=1, started_at=Now(), lease_until=Now()
    ).pk
    named = {"kind": KIND, "queue": "default"}
    with (
        Grown("hubqueue_jobs_enqueued_total", **named, outcome="new") as enqueued,
        Grown("hubqueue_jobs_claimed_total", **named) as claimed,
        Grown("hubqueue_pickup_seconds_count", **named) as waited,
        Grown("hubqueue_attempt_seconds_count", **named) as ran,
        Grown("hubqueue_jobs_settled_total", **named, state="SUCCEEDED", outcome="succeed") as done,
        Grown("hubqueue_jobs_settled_total", **named, state="DEAD", outcome="give up") as dead,
        Grown("hubqueue_dead_letters_total", kind=KIND, code="refused") as letters,
        Grown("hubqueue_attempts_failed_total", kind=KIND, code="refused") as failed,
    ):
        handlers.typed.enqueue(text="secret-4711")
        handlers.typed.enqueue(text="secret-4711")
        one, two = claim(worker, [Lane("default", 2)], [2], 2, [KIND], using="default")
        settle(one, succeed(), using="default")
        settle(two, give_up(Broken("refused")), using="default")
    assert [each.by for each in (enqueued, claimed, waited, ran)] == [2, 2, 2, 2]
    assert [each.by for each in (done, dead, letters, failed)] == [1, 1, 1, 1]
    assert "secret-4711" not in "".join(str(family) for family in REGISTRY.collect())


@pytest.mark.django_db(transaction=True)
def test_every_request_of_a_bulk_call_is_counted_and_told_of_once() -> None:
    told: list[tuple[str, int]] = []

    def hear(*, outcome: str, count: int, **_: object) -> None:
        told.append((outcome, count))

    named = {"kind": KIND, "queue": "default"}
    keyed = handlers.typed.using(dedupe_key="k")
    signals.job_enqueued.connect(hear)
    try:
        with (
            Grown("hubqueue_jobs_enqueued_total", **named, outcome="new") as new,
            Grown("hubqueue_jobs_enqueued_total", **named, outcome="collapsed") as collapsed,
        ):
            items = [handlers.typed.item(), keyed.item(), keyed.item(), handlers.typed.item()]
            handlers.typed.enqueue_many(items)
    finally:
        signals.job_enqueued.disconnect(hear)
    assert (new.by, collapsed.by) == (3, 1)
    assert sorted(told) == [("collapsed", 1), ("new", 3)]


def test_an_officers_verb_a_rescue_and_a_lost_lease_are_counted() -> None:
    with (
        Grown("hubqueue_verbs_total", verb="park") as verbs,
        Grown(
            "hubqueue_jobs_rescued_total", kind=KIND, queue="mail", cause="reaped", spent="no"
        ) as rescued,
        Grown("hubqueue_lease_lost_total", kind=KIND) as lost,
        Grown("hubqueue_worker_events_total", event="killed") as killed,
    ):
        signals.verb_done.send(None, verb=Move.PARK, target="secret-target", actor="secret-actor")
        signals.job_rescued.send(
            None, job_id=uuid4(), kind=KIND, queue="mail", cause="reaped", spent=False
        )
        signals.lease_lost.send(None, kind=KIND)
        signals.worker_changed.send(None, worker="secret-worker", event="killed")
    assert [each.by for each in (verbs, rescued, lost, killed)] == [1, 1, 1, 1]
    text = str(list(REGISTRY.collect()))
    assert "secret-" not in text


def test_unknown_kinds_and_queues_share_one_label() -> None:
    with Grown(
        "hubqueue_jobs_enqueued_total", kind="(unknown)", queue="(unknown)", outcome="new"
    ) as grown:
        for number in range(5):
            signals.job_enqueued.send(
                None, kind=f"gone.k{number}", queue=f"q{number}", outcome="new"
            )
    assert grown.by == 5
    assert "gone.k" not in str(list(REGISTRY.collect()))


def test_a_former_name_counts_under_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    from hubqueue.registry import registry

    monkeypatch.setitem(registry.by_kind, "sample.former", registry.handlers[KIND])
    assert metrics.kind_label("sample.former") == KIND


def test_codes_are_bounded() -> None:
    bounded = metrics.Bounded(3)
    assert [bounded(f"code-{n}") for n in range(5)] == [
        "code-0",
        "code-1",
        "code-2",
        "(other)",
        "(other)",
    ]
    assert bounded("code-1") == "code-1"


def test_no_label_is_a_tenant_an_id_or_free_text() -> None:
    allowed = {
        "kind",
        "queue",
        "state",
        "code",
        "outcome",
        "cause",
        "spent",
        "verb",
        "event",
        "le",
        "duty",
        "schedule",
    }
    for family in REGISTRY.collect():
        if family.name.startswith("hubqueue_"):
            for sample in family.samples:
                assert set(sample.labels) <= allowed, family.name


COUNT_ONE = """
import django; django.setup()
from hubqueue import signals
signals.jobs_settled.send(None, endings=[signals.Ending(None, "gone", "mail", "DEAD", "give up", "x", 0.1, 1)])
"""
READ_ALL = """
import django; django.setup()
from hubqueue import gauges
print(gauges.exposition()[0].decode())
"""


@pytest.mark.slow
def test_counters_of_several_processes_are_added_up(
    tmp_path: Path, process_env: dict[str, str]
) -> None:
    env = {**process_env, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}

    def python(program: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", program],
            cwd=CHECKOUT,
            env=env,
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout

    python(COUNT_ONE)
    python(COUNT_ONE)
    text = python(READ_ALL)
    assert 'hubqueue_dead_letters_total{code="x",kind="(unknown)"} 2.0' in text
    assert "hubqueue_database_up 1.0" in text


def test_many_observations_at_once_count_like_one_by_one() -> None:
    seconds = [-1.0, 0.0, 0.005, 0.0051, 0.3, 0.3, 5.0, 7200.0, 7200.1, 1e9]
    alone, together = (
        Durations("alike", "", ["kind"], buckets=metrics.RUN_SECONDS, registry=None)
        for _ in range(2)
    )
    for each in seconds:
        alone.labels("k").observe(each)
    together.labels("k").observe_all(seconds)
    together.labels("k").observe_all([])

    def samples(histogram: Durations) -> list[tuple[str, dict[str, str], float]]:
        return [
            (each.name, each.labels, pytest.approx(each.value))
            for metric in histogram.collect()
            for each in metric.samples
            if not each.name.endswith("_created")
        ]

    assert samples(together) == samples(alone)
