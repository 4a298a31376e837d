"""A real worker, a hanging endpoint and a healthy one: neither holds up the other, and a death repeats an id."""

import urllib.request
from collections import Counter
from signal import SIGKILL

import pytest

from hubqueue.models import Job
from notifications.models import WebhookDelivery
from notifications.services import emit
from notifications.webhooks.events import register_event_type
from notifications.webhooks.subscribing import subscribe
from tests.support.postgres import free_port
from tests.support.wait import until
from tests.support.workers import WorkerTree, send
from tests.webhooks.endpoint import reply, serving

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]
EVENTS = 30
HANGS = 8.0


@pytest.fixture(autouse=True)
def known():
    register_event_type("test.ready", "The worker is ready")
    register_event_type("test.failing", "What a broken endpoint is told of")


@pytest.fixture
def worker(process_env, tmp_path):
    port = free_port()
    env = process_env | {
        "WEBHOOKS_ALLOW_PRIVATE": "1",
        "WEBHOOKS_TIMEOUT": str(HANGS),
        "WEBHOOKS_DEADLINE": str(HANGS),
    }
    arguments = ["--queues=webhooks", "--threads=4", f"--metrics-port={port}"]
    tree = WorkerTree(arguments, env=env, log=tmp_path / "worker.log")
    tree.metrics = lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()  # fmt: skip
    yield tree
    tree.kill_tree()


@pytest.mark.alone  # the healthy one is served before the hanging one would have answered
def test_a_hanging_endpoint_holds_up_nobody_and_a_killed_worker_sends_the_same_id_again(worker):
    with serving() as slow, serving() as quick, serving() as broken:
        broken.answer = lambda handler: reply(handler, 500)
        subscribe(name="broken", url=broken.url, event_types=["test.failing"])
        emit("test.failing", data={})
        slow.answer = lambda handler: slow.over.wait(HANGS)
        for each, types in ((slow, ["test.happened"]), (quick, ["test.happened", "test.ready"])):
            subscribe(name=each.url, url=each.url, event_types=types)
        emit("test.ready", data={})
        until(lambda: quick.received, message="the worker's readiness")
        quick.received.clear()
        for number in range(EVENTS):
            emit("test.happened", data={"number": number})
        until(lambda: len(quick.received) == EVENTS, timeout=HANGS * 0.8)
        assert 1 <= len(slow.received) <= 2, "the hanging one has its share and no more"
        until(lambda: len(slow.received) == 2)

        (child,) = worker.regular()
        send(child.pid, SIGKILL)
        slow.answer = lambda handler: reply(handler, 204)
        until(lambda: len(set(slow.ids)) == EVENTS, timeout=90, message="every message there")
        ready = Job.objects.exclude(state="SUCCEEDED").exclude(payload__attempt__gt=1)
        until(lambda: not ready.exists(), timeout=60)
        again = [message for message, times in Counter(slow.ids).items() if times > 1]
        assert again == slow.ids[:2]
        for each in again:
            assert len({r.body for r in slow.received if r.headers["webhook-id"] == each}) == 1
            outcomes = WebhookDelivery.objects.filter(message=each).order_by("id")
            assert [d.outcome for d in outcomes] == ["interrupted", "delivered"]
        assert len(set(quick.ids)) == EVENTS

        until(lambda: _backlog(worker.metrics()) == 1, timeout=75, message="the published backlog")


def _backlog(exposition):
    lines = [each.split() for each in exposition.splitlines() if not each.startswith("#")]
    return next((float(value) for name, value in lines if name == "webhooks_retry_backlog"), None)
