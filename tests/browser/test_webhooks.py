"""An officer and a webhook in a real browser: subscribe, keep the secret, test, read what came back, replay."""

from collections.abc import Callable
from typing import Any

import pytest
from standardwebhooks import Webhook

from hubqueue.testing import run_due_jobs
from notifications.models import WebhookMessage, WebhookSubscription
from notifications.services import emit
from notifications.webhooks.events import register_event_type
from tests.webhooks.endpoint import reply, serving

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]


def test_a_subscription_from_its_making_to_a_replay(
    log_in: Callable[[str], Any], picture: Callable[[str], None], settings: Any
) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    register_event_type("test.happened", "Something happened")
    register_event_type("test.other", "Something else happened")
    with serving() as endpoint:
        page = log_in("ada")
        page.goto("/admin/notifications/webhooksubscription/add/")
        page.fill("#id_name", "Orders to the shop")
        page.fill("#id_url", "https://0x7f.1/hook")
        page.check("text=Something happened")
        page.click("input[name=_save]")
        assert "four plain decimal numbers" in page.inner_text("#content")
        picture("webhook-refused")
        page.fill("#id_url", endpoint.url)
        page.click("input[name=_save]")
        secret = page.inner_text("#secret")
        picture("webhook-secret")
        page.click("text=Done, I have it")
        page.click("text=Send a test")
        page.fill("#id_reason", "does it arrive?")
        page.click("input[type=submit]")
        run_due_jobs(kinds=["webhooks.deliver"])
        assert Webhook(secret).verify(endpoint.received[0].body, endpoint.received[0].headers)

        answer = b'{"error": "<b>closed</b>"}'
        endpoint.answer = lambda handler: reply(handler, 410, answer)
        emit("test.happened", data={"order": 4711, "total": "12.50 €"}, subject="order/4711")
        run_due_jobs(kinds=["webhooks.dispatch", "webhooks.deliver"])
        subscription = WebhookSubscription.objects.get()
        page.goto(f"/admin/notifications/webhooksubscription/{subscription.pk}/change/")
        assert "gone for good" in page.inner_text("#content")
        assert secret not in page.content()
        picture("webhook-subscription")
        page.click("a:text-is('Enable')")
        page.fill("#id_reason", "it is back")
        page.click("input[type=submit]")
        page.click("text=Rotate the secret")
        picture("webhook-rotate")
        page.goto("/admin/notifications/webhookmessage/")
        picture("webhook-messages")
        page.click("th a:has-text('test.happened')")
        assert "<b>closed</b>" in page.inner_text("#content")
        picture("webhook-message")
        endpoint.answer = lambda handler: reply(handler, 204)
        page.click("a:text-is('Replay')")
        page.fill("#id_reason", "it is back")
        page.click("input[type=submit]")
        run_due_jobs(kinds=["webhooks.deliver"])
        page.reload()
        assert "The endpoint took it." in page.inner_text("#content")
    assert WebhookMessage.objects.filter(state="delivered").count() == 2
