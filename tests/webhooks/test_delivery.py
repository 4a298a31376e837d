"""From an event to a signed request: once per subscription that asked for it, in the event's transaction."""

import json
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import transaction

from hubqueue.errors import PayloadRefused
from hubqueue.models import Job
from notifications.errors import EventTypeUnknown
from notifications.models import WebhookDelivery, WebhookMessage
from notifications.services import emit
from notifications.webhooks.deliver_handler import deliver
from notifications.webhooks.subscribing import subscribe
from tests.webhooks.conftest import happen, run, verified

pytestmark = pytest.mark.django_db


def test_an_event_arrives_as_a_signed_cloud_event(endpoint, subscribed):
    happen()
    (request,) = endpoint.received
    said = verified(request, subscribed.secret)
    assert said["data"] == {"order": "Ö 1"}
    assert {name: said[name] for name in ("specversion", "source", "type", "subject")} == {
        "specversion": "1.0",
        "source": "urn:hubqueue",
        "type": "test.happened",
        "subject": "order/1",
    }
    assert UUID(said["id"])
    assert request.headers["content-type"] == "application/cloudevents+json"
    message = WebhookMessage.objects.get()
    assert request.headers["webhook-id"] == str(message.pk)
    assert bytes(message.body) == request.body
    assert message.state == "delivered"
    delivery = WebhookDelivery.objects.get()
    assert (delivery.outcome, delivery.code, delivery.attempt) == ("delivered", 204, 1)
    assert "webhook-signature" not in delivery.headers
    assert delivery.headers["webhook-timestamp"] == request.headers["webhook-timestamp"]


def test_what_is_rolled_back_is_told_to_nobody(endpoint, subscribed):
    class Undone(Exception):
        pass

    with pytest.raises(Undone), transaction.atomic():
        emit("test.happened", data={})
        raise Undone
    run()
    assert endpoint.received == []


def test_only_who_asked_for_it_is_told_and_only_of_its_own_tenant(endpoint, subscribed, owner):
    for number, (types, tenant) in enumerate(
        [(["test.other"], None), (["test.happened"], "t1"), (["test.happened"], "t2")]
    ):
        subscribe(
            name=f"s{number}", url=f"{endpoint.url}/{number}", event_types=types, tenant=tenant
        )
    happen(tenant="t1")
    assert [each.path for each in endpoint.received] == ["/hook/1"]
    happen()
    assert [each.path for each in endpoint.received] == ["/hook/1", "/hook"]


def test_a_repeated_cause_is_told_once_and_a_new_subscription_of_it_none_the_less(
    endpoint, subscribed
):
    happen(cause="c1")
    happen(cause="c1")
    emit("test.happened", data={}, cause="c2")
    emit("test.happened", data={}, cause="c2")
    run()
    assert len(endpoint.received) == WebhookMessage.objects.count() == 2
    assert len(set(endpoint.ids)) == 2


def test_one_event_has_one_id_for_all_and_each_message_its_own(endpoint, subscribed):
    subscribe(name="second", url=endpoint.url, event_types=["test.happened"])
    happen()
    assert len({json.loads(each.body)["id"] for each in endpoint.received}) == 1
    assert len(set(endpoint.ids)) == 2


def test_what_cannot_be_emitted_is_refused_at_once(subscribed):
    with pytest.raises(EventTypeUnknown, match="register it in the ready"):
        emit("test.unknown", data={})
    with pytest.raises(PayloadRefused):
        emit("test.happened", data={"x": float("nan")})
    with pytest.raises(ValueError, match="cause: expected up to 150"):
        emit("test.happened", data={}, cause="c" * 151)
    assert not Job.objects.exists()


def test_an_endpoint_has_no_more_than_its_share_of_attempts_under_way(
    endpoint, subscribed, settings
):
    settings.WEBHOOKS_IN_FLIGHT = 1
    emit("test.happened", data={})
    run()
    WebhookDelivery.objects.update(outcome="")  # another worker's, under way
    happen()
    job = Job.objects.get(kind="webhooks.deliver", state="READY")
    assert (job.attempts, job.error_code) == (0, "endpoint_full")
    assert len(endpoint.received) == 1
    WebhookDelivery.objects.update(outcome="delivered")
    Job.objects.filter(pk=job.pk).update(run_at=job.created_at)
    run()
    assert len(endpoint.received) == 2


def test_the_row_of_a_worker_that_died_blocks_nobody_for_ever(
    endpoint, subscribed, settings, later
):
    settings.WEBHOOKS_IN_FLIGHT = 1
    happen()
    WebhookDelivery.objects.update(outcome="")
    later.by(timedelta(minutes=2))
    happen()
    assert len(endpoint.received) == 2


def test_an_attempt_of_a_worker_that_died_is_made_again_with_the_same_id_and_shown(
    endpoint, subscribed
):
    happen()
    message = WebhookMessage.objects.get()
    # As a worker leaves it that is killed before its settle.
    WebhookMessage.objects.update(state="pending", attempts=0, finished_at=None)
    WebhookDelivery.objects.update(outcome="")
    deliver.enqueue(message_id=message.pk, ladder=1, attempt=1)
    run()
    assert endpoint.ids == [str(message.pk)] * 2
    assert endpoint.received[0].body == endpoint.received[1].body
    outcomes = WebhookDelivery.objects.order_by("id").values_list("outcome", flat=True)
    assert list(outcomes) == ["interrupted", "delivered"]
