"""The officers' pages: what they refuse, what they show once, who may do what, and that nothing in them runs."""

import logging
import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from hubqueue.ids import uuid7
from hubqueue.models import Operation
from notifications.models import WebhookDelivery, WebhookMessage, WebhookSubscription
from tests.webhooks.conftest import happen, run, verified
from tests.webhooks.endpoint import reply

pytestmark = pytest.mark.django_db
NASTY = "<script>alert(1)</script>"
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]{20,}")


@pytest.fixture
def boss(client):
    client.force_login(User.objects.create_superuser("boss"))
    return client


def page(name, *args):
    return reverse(f"admin:notifications_{name}", args=args)


def form(endpoint, **changes):
    return {
        "name": "Shop " + NASTY, "tenant_id": "", "url": endpoint.url, "owner": "",
        "event_types": ["test.happened"], "new_id": str(uuid7()),
    } | changes  # fmt: skip


def shown_secret(answer):
    (found,) = set(SECRET.findall(answer.content.decode()))
    return found


def everything(client):
    """All pages of webhooks, as one text."""
    said = ""
    for model in ("webhooksubscription", "webhookmessage"):
        said += client.get(page(f"{model}_changelist")).content.decode()
        for row in (WebhookSubscription, WebhookMessage):
            if row._meta.model_name == model:
                for each in row.objects.all():
                    for view in ("change", "history"):
                        said += client.get(page(f"{model}_{view}", each.pk)).content.decode()
    return said + client.get(reverse("admin:index")).content.decode()


def test_a_subscription_is_made_and_its_secret_shown_once(boss, endpoint):
    said = form(endpoint)
    answer = boss.post(page("webhooksubscription_add"), said)
    secret = shown_secret(answer)
    assert "no-store" in answer.headers["Cache-Control"]
    assert secret not in str(answer.cookies)
    assert secret not in str(dict(boss.session))
    row = WebhookSubscription.objects.get()
    assert (str(row.pk), row.event_types, row.tenant_id) == (
        said["new_id"],
        ["test.happened"],
        None,
    )
    happen()
    assert verified(endpoint.received[0], secret)
    assert not SECRET.search(everything(boss))
    assert NASTY not in everything(boss)
    again = boss.post(page("webhooksubscription_add"), said)
    assert "made already" in again.content.decode()
    assert not SECRET.search(again.content.decode())
    assert WebhookSubscription.objects.count() == 1
    assert not SECRET.search(str(list(LogEntry.objects.values())))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://example.org/", "Expected https://"),
        ("https://127.0.0.1/", "private or reserved"),
        ("https://0x7f.1/", "four plain decimal numbers"),
        ("https://user:pw@example.org/", "without a user name"),
        ("https://bücher.example/", "xn--"),
        ("file:///etc/passwd", "Expected a URL that begins with https://"),
    ],
)
def test_a_url_that_is_not_called_is_refused_on_the_form_in_words(
    boss, endpoint, settings, url, said
):
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    answer = boss.post(page("webhooksubscription_add"), form(endpoint, url=url))
    assert answer.status_code == 200
    assert said in answer.content.decode()
    assert not WebhookSubscription.objects.exists()


def test_an_unknown_event_type_is_refused_and_a_test_is_not_offered(boss, endpoint):
    for kind in ("test.unknown", "webhooks.ping"):
        answer = boss.post(page("webhooksubscription_add"), form(endpoint, event_types=[kind]))
        assert "valid choice" in answer.content.decode()
    assert not WebhookSubscription.objects.exists()


def test_an_edit_touches_neither_the_secret_nor_what_workers_write(boss, endpoint, subscribed):
    sealed = subscribed.row.secret
    where = page("webhooksubscription_change", subscribed.row.pk)
    said = form(endpoint, name="Shop", event_types=["test.other"])
    with CaptureQueriesContext(connection) as seen:
        assert boss.post(where, said).status_code == 302
    (update,) = [
        q["sql"] for q in seen if q["sql"].startswith("UPDATE") and "webhooksub" in q["sql"]
    ]
    assert not [each for each in ("secret", "state", "dead_in_row") if each in update]
    assert (subscribed.now.event_types, subscribed.now.secret) == (["test.other"], sealed)


def test_a_rotation_shows_the_new_secret_once_and_is_not_done_twice(boss, endpoint, subscribed):
    where = page("webhooksubscription_rotate", subscribed.row.pk)
    since = re.search(r'name="since" value="([^"]+)"', boss.get(where).content.decode())[1]
    assert boss.post(where, {"since": since, "reason": ""}).status_code == 200
    answer = boss.post(where, {"since": since, "reason": "it leaked"})
    secret = shown_secret(answer)
    assert secret != subscribed.secret
    again = boss.post(where, {"since": since, "reason": "it leaked"})
    assert again.status_code == 302
    happen()
    for each in (secret, subscribed.secret):
        assert verified(endpoint.received[0], each)
    assert Operation.objects.get().reason == "it leaked"
    assert not SECRET.search(everything(boss) + str(list(LogEntry.objects.values())))


def act(client, where, **more):
    return client.post(where, {"confirmed": "1", "reason": "why not", **more})


def test_an_officer_tests_disables_and_enables(boss, endpoint, subscribed):
    row = subscribed.row
    assert boss.get(page("webhooksubscription_verb", row.pk, "test")).status_code == 200
    act(boss, page("webhooksubscription_verb", row.pk, "test"))
    run()
    assert WebhookMessage.objects.get().event_type == "webhooks.ping"
    assert verified(endpoint.received[0], subscribed.secret)["data"] == {"test": True}
    act(boss, page("webhooksubscription_verb", row.pk, "disable"))
    assert (subscribed.now.state, subscribed.now.reason) == ("disabled", "by_officer")
    body = boss.get(page("webhooksubscription_change", row.pk)).content.decode()
    assert "An officer disabled it." in body
    happen()
    assert len(endpoint.received) == 1
    refused = boss.post(
        page("webhooksubscription_verb", row.pk, "disable"),
        {"confirmed": "1", "reason": "again"},
        follow=True,
    )
    assert "disabled already" in refused.content.decode()
    act(boss, page("webhooksubscription_verb", row.pk, "enable"))
    assert subscribed.now.state == "active"
    verbs = list(Operation.objects.order_by("id").values_list("verb", flat=True))
    assert verbs == ["webhooks.test", "webhooks.disable", "webhooks.enable"]


def test_only_a_dead_message_is_replayed(boss, endpoint, subscribed, later):
    endpoint.answer = lambda handler: reply(handler, 410, NASTY.encode())
    happen()
    message = WebhookMessage.objects.get()
    replay = page("webhookmessage_replay", message.pk)
    refused = boss.post(replay, {"confirmed": "1", "reason": "x"}, follow=True).content.decode()
    assert "The subscription is disabled; enable it first" in refused
    act(boss, page("webhooksubscription_verb", subscribed.row.pk, "enable"))
    endpoint.answer = lambda handler: reply(handler, 204)
    chosen = {"action": "replay", "_selected_action": [str(message.pk)]}
    act(boss, page("webhookmessage_changelist"), **chosen)
    run()
    message.refresh_from_db()
    assert (message.state, message.ladder, message.attempts) == ("delivered", 2, 1)
    assert len(set(endpoint.ids)) == len({each.body for each in endpoint.received}) == 1
    refused = boss.post(replay, {"confirmed": "1", "reason": "x"}, follow=True).content.decode()
    assert "Only a dead message is replayed" in refused


def test_bodies_are_escaped_capped_and_for_those_who_may_read_them(
    boss, client, endpoint, subscribed
):
    endpoint.answer = lambda handler: reply(handler, 200, (NASTY + "answer" * 5000).encode())
    happen()
    where = page("webhookmessage_change", WebhookMessage.objects.get().pk)
    body = boss.get(where).content.decode()
    assert "Ö 1" in body
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in body
    assert NASTY not in body
    assert body.count("answer") < 1500
    assert "webhook-signature" not in body
    clerk = User.objects.create_user("clerk", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename__startswith="view_webhook"))
    client.force_login(clerk)
    body = client.get(where).content.decode()
    assert "You may not read what was sent" in body
    assert "Ö 1" not in body
    assert "alert(1)" not in body


def test_each_verb_needs_its_own_permission_and_a_post(client, endpoint, subscribed):
    endpoint.answer = lambda handler: reply(handler, 410)
    happen()
    message = WebhookMessage.objects.get()
    row = subscribed.row
    clerk = User.objects.create_user("clerk", is_staff=True)
    client.force_login(clerk)
    for where in (page("webhooksubscription_change", row.pk), page("webhookmessage_change", message.pk)):  # fmt: skip
        assert client.get(where).status_code == 403
    clerk.user_permissions.set(Permission.objects.filter(codename__startswith="view_webhook"))
    before = (WebhookSubscription.objects.values().get(), WebhookMessage.objects.values().get())
    for where in (
        page("webhooksubscription_verb", row.pk, "test"),
        page("webhooksubscription_verb", row.pk, "enable"),
        page("webhooksubscription_verb", row.pk, "disable"),
        page("webhookmessage_replay", message.pk),
        page("webhooksubscription_rotate", row.pk),
        page("webhooksubscription_add"),
    ):
        act(client, where, since=row.rotated_at.isoformat())
    act(
        client,
        page("webhookmessage_changelist"),
        action="replay",
        _selected_action=[str(message.pk)],
    )
    after = (WebhookSubscription.objects.values().get(), WebhookMessage.objects.values().get())
    assert after == before
    assert not Operation.objects.exists()
    body = client.get(page("webhooksubscription_change", row.pk)).content.decode()
    for word in ("Rotate the secret", "Send a test", "/enable/now/"):
        assert word not in body


def test_no_verb_is_done_for_another_site(subscribed):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.create_superuser("boss"))
    for where in (
        page("webhooksubscription_verb", subscribed.row.pk, "disable"),
        page("webhooksubscription_rotate", subscribed.row.pk),
        page("webhooksubscription_add"),
    ):
        assert act(strict, where).status_code == 403


def test_nothing_is_guessed_by_a_lookup_in_the_address(boss, subscribed):
    happen()
    for where, lookup in (
        ("webhooksubscription_changelist", "secret__startswith=g"),
        ("webhookmessage_changelist", "subscription__secret__startswith=g"),
        ("webhookmessage_changelist", "deliveries__answer__contains=a"),
    ):
        assert boss.get(f"{page(where)}?{lookup}").status_code in (302, 400)
    assert WebhookDelivery.objects.exists()


def test_the_page_that_shows_a_secret_leaves_it_in_no_log(boss, endpoint, subscribed, caplog):
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="django")
    where = page("webhooksubscription_rotate", subscribed.row.pk)
    since = subscribed.row.rotated_at.isoformat()
    for answer in (
        boss.post(page("webhooksubscription_add"), form(endpoint)),
        boss.post(where, {"since": since, "reason": "it leaked"}),
    ):
        assert shown_secret(answer) not in caplog.text


def test_a_subscription_stays_with_its_tenant(boss, endpoint, subscribed):
    """What waits for it or is dead is its tenant's: another one is not to get that by an edit and a replay."""
    where = page("webhooksubscription_change", subscribed.row.pk)
    assert 'name="tenant_id"' not in boss.get(where).content.decode()
    boss.post(where, form(endpoint, tenant_id="another"))
    assert subscribed.now.tenant_id is None


def test_who_may_replay_and_not_look_learns_nothing_of_a_message(client, subscribed):
    happen()
    message = WebhookMessage.objects.get()
    clerk = User.objects.create_user("clerk", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename="replay_webhookmessage"))
    client.force_login(clerk)
    assert client.get(page("webhookmessage_replay", message.pk)).status_code == 403
