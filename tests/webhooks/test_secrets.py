"""No secret in a row, a line of a log, a metric or a page; of the URL nothing but its host outside its own row."""

import logging

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.urls import reverse

from hubqueue.gauges import exposition
from hubqueue.models import Job
from notifications.models import WebhookMessage, WebhookSubscription
from notifications.webhooks.begin import begin
from notifications.webhooks.officers import rotate, send_test
from tests.webhooks.conftest import happen, run
from tests.webhooks.endpoint import reply

pytestmark = pytest.mark.django_db
TOKEN = "token-nobody-may-see"


def tables():
    """Every row of every table as text, by table."""
    said = {}
    with connection.cursor() as cursor:
        for name in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT row::text FROM "{name}" AS row')
            said[name] = "\n".join(text for (text,) in cursor.fetchall())
    return said


def pages(client):
    said = client.get(reverse("admin:notifications_webhookmessage_changelist")).content.decode()
    said += client.get(reverse("admin:index")).content.decode()
    for model in (WebhookSubscription, WebhookMessage, Job):
        for row in model.objects.all():
            name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
            said += client.get(reverse(name, args=[row.pk])).content.decode()
    return said


def fail_in_every_way(endpoint, settings):
    """Answers, silence, garbage, and an address that is refused."""

    def garbage(handler):
        handler.wfile.write(b"nonsense\r\n\r\n")
        handler.connection.close()

    for answer in (
        lambda handler: reply(handler, 500, b"no"),
        lambda handler: reply(handler, 302, Location="http://127.0.0.1/"),
        lambda handler: endpoint.over.wait(5),
        garbage,
    ):
        endpoint.answer = answer
        happen()
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    happen()
    settings.WEBHOOKS_ALLOW_PRIVATE = True


def test_the_secret_is_nowhere_but_sealed_and_the_url_nowhere_but_in_its_row(
    endpoint, subscribed, settings, client, caplog
):
    caplog.set_level(logging.DEBUG)
    WebhookSubscription.objects.update(url=f"{endpoint.url}?key={TOKEN}")
    fail_in_every_way(endpoint, settings)
    since = subscribed.now.rotated_at
    new = rotate(subscribed.row.pk, since=since, actor="ada", reason="yearly")
    send_test(subscribed.row.pk, actor="ada", reason="try")
    run()
    settings.SECRET_KEY = "another key " * 5
    happen()  # cannot be read: what is raised then is written down too
    client.force_login(User.objects.create_superuser("boss"))
    kept = tables()
    secrets = [part for each in (subscribed.secret, new) for part in (each, each.removeprefix("whsec_"))]  # fmt: skip
    said = "\n".join([*kept.values(), caplog.text, pages(client), exposition()[0].decode()])
    signed = [each.headers["webhook-signature"].split(",")[1] for each in endpoint.received]
    for secret in (*secrets, *signed):
        assert secret not in said
    own = kept.pop("notifications_webhooksubscription")
    assert TOKEN in own
    elsewhere = "\n".join([*kept.values(), caplog.text, exposition()[0].decode()])
    assert TOKEN not in elsewhere


def test_what_is_printed_of_an_attempt_or_a_subscription_holds_no_secret(endpoint, subscribed):
    happen()
    message = WebhookMessage.objects.get()
    WebhookMessage.objects.update(state="pending", attempts=0, finished_at=None)
    flight = begin(message.pk, 1, 1, using="default")
    signature = flight.headers["webhook-signature"]
    for said in (repr(flight), str(flight), repr(subscribed.row), repr(message)):
        assert signature not in said
        assert subscribed.row.secret not in said
        assert "127.0.0.1" not in said
