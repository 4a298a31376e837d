"""What a restore set aside of webhooks is sent by nothing but an officer's release."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.urls import reverse

from backups.data.spec import discover
from hubqueue import officers as queue_officers
from hubqueue.ids import uuid7
from hubqueue.models import Job, Operation
from hubqueue.testing import move_clock, run_due_jobs
from notifications.errors import HeldRefused, WebhookVerbRefused
from notifications.models import WebhookDelivery, WebhookMessage
from notifications.services import emit
from notifications.webhooks import held, officers
from notifications.webhooks.retention_handler import retain
from tests.webhooks.conftest import happen, run

pytestmark = pytest.mark.django_db
SAID = {"actor": "ada", "reason": "The original is gone."}
LIST = "/admin/notifications/webhookmessage/"


def restore(*, jobs=False):
    """This database as a restore leaves a copy of it: with the jobs of the original, parked, or with none."""
    if jobs:
        Job.objects.filter(state="READY").update(state="PARKED", park_reason="restored")
    else:
        Job.objects.all().delete()
    declared = discover().declared
    with connection.cursor() as cursor:
        for model in ("WebhookSubscription", "WebhookMessage", "WebhookDelivery"):
            for each in declared[f"notifications.{model}"].quiet:
                cursor.execute(each.over())


@pytest.fixture
def waiting(subscribed):
    """Messages whose first attempt has not been made."""

    def make(count):
        before = set(WebhookMessage.objects.values_list("pk", flat=True))
        for _ in range(count):
            emit("test.happened", data={})
        run_due_jobs(kinds=["webhooks.dispatch"])
        return list(WebhookMessage.objects.exclude(pk__in=before).order_by("pk"))

    return make


def states(*rows):
    found = WebhookMessage.objects.in_bulk([each.pk for each in rows])
    return [found[each.pk].state for each in rows]


def test_what_waited_is_held_and_nobody_is_called_any_more(endpoint, subscribed, waiting):
    happen()
    delivered = WebhookMessage.objects.get()
    (row,) = waiting(1)
    WebhookDelivery.objects.create(message=row, subscription=subscribed.row, ladder=1, attempt=1)
    restore()
    row.refresh_from_db()
    assert (row.state, row.reason, row.next_attempt_at) == ("held", "restored", None)
    assert states(delivered) == ["delivered"]
    assert (subscribed.now.state, subscribed.now.reason) == ("disabled", "restored")
    assert list(row.deliveries.values_list("outcome", flat=True)) == ["interrupted"]
    happen()
    assert len(endpoint.received) == 1


@pytest.mark.parametrize("way", ["its old job", "a replay", "enabling", "retention"])
def test_nothing_but_a_release_sends_what_is_held(endpoint, subscribed, waiting, way):
    (row,) = waiting(1)
    restore(jobs=way == "its old job")
    officers.enable(subscribed.row.pk, **SAID)
    match way:
        case "its old job":
            queue_officers.release(Job.objects.get(kind="webhooks.deliver").pk, **SAID)
        case "a replay":
            with pytest.raises(WebhookVerbRefused, match="on hold"):
                officers.replay(row.pk, **SAID)
        case "retention":
            with move_clock(timedelta(days=1000)):
                retain.enqueue()
                assert not run_due_jobs(kinds=[retain]).failures
    assert not run().failures
    assert endpoint.received == []
    assert states(row) == ["held"]


@pytest.mark.parametrize("jobs", [False, True], ids=["no job", "a parked job"])
def test_what_is_released_is_sent_once_when_its_subscription_is_active(
    endpoint, subscribed, waiting, jobs
):
    first, second = waiting(2)
    restore(jobs=jobs)
    with pytest.raises(HeldRefused, match="enable it first"):
        held.release(first.pk, **SAID)
    assert held.release_all(**SAID) == 0
    officers.enable(subscribed.row.pk, **SAID)
    held.release(first.pk, **SAID)
    old = Job.objects.filter(state="PARKED")
    for each in list(old):  # an officer lets the jobs of the original go as well
        queue_officers.release(each.pk, **SAID)
    assert not run().failures
    assert endpoint.ids == [str(first.pk)]
    assert bytes(first.body) == endpoint.received[0].body
    assert states(first, second) == ["delivered", "held"]
    entry = Operation.objects.get(verb="webhooks.release", target__endswith=str(first.pk))
    assert (entry.actor, entry.reason) == tuple(SAID.values())
    with pytest.raises(HeldRefused):
        held.release(first.pk, **SAID)


def test_what_is_dropped_is_dead_and_can_be_replayed(endpoint, subscribed, waiting):
    (row,) = waiting(1)
    restore()
    held.drop(row.pk, **SAID)
    row.refresh_from_db()
    assert (row.state, row.reason) == ("dead", "dropped")
    assert row.finished_at is not None
    for verb in (held.release, held.drop):
        for missing in (row.pk, uuid7()):
            with pytest.raises(HeldRefused):
                verb(missing, **SAID)
    officers.enable(subscribed.row.pk, **SAID)
    assert subscribed.now.dead_in_row == 0
    officers.replay(row.pk, **SAID)
    run()
    assert endpoint.ids == [str(row.pk)]


def test_all_are_released_the_oldest_first_and_all_are_dropped(
    endpoint, subscribed, waiting, monkeypatch
):
    monkeypatch.setattr(held, "MOST_AT_ONCE", 3)
    monkeypatch.setattr(held, "BATCH", 2)
    rows = waiting(4)
    restore()
    officers.enable(subscribed.row.pk, **SAID)
    assert held.release_all(**SAID) == 3
    assert states(*rows) == [*["pending"] * 3, "held"]
    run()
    assert sorted(endpoint.ids) == [str(each.pk) for each in rows[:3]]
    assert held.drop_all(**SAID) == 1
    assert states(*rows) == [*["delivered"] * 3, "dead"]


# The pages


def url(name, *args):
    return reverse(f"admin:notifications_webhookmessage_{name}", args=args)


def read(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.fixture
def officer(client):
    """Logs in a member of staff who may look at messages, with these permissions besides."""

    def log_in(*permissions):
        user = User.objects.create_user(f"officer-{uuid7()}", is_staff=True)
        names = ["view_webhookmessage", *permissions]
        user.user_permissions.set(Permission.objects.filter(codename__in=names))
        client.force_login(user)
        return client

    return log_in


def test_the_first_page_the_list_and_the_page_say_what_is_on_hold_and_why(officer, waiting):
    (row,) = waiting(1)
    viewer = officer()
    for path in ("/admin/", LIST):
        assert "on hold after a restore" not in read(viewer, path)
    restore()
    for path in ("/admin/", LIST):
        said = read(viewer, path)
        assert "Webhook messages on hold after a restore" in said
        assert f'{LIST}?state__exact=held"><strong>1</strong>' in said
        assert "Release all" not in said
    assert str(row.pk) in read(viewer, LIST + "?state__exact=held")
    page = read(viewer, url("change", row.pk))
    assert "On hold" in page
    assert "Nothing sends it until somebody releases it" in page
    assert url("release", row.pk) not in page


@pytest.mark.parametrize("word", ["release", "drop"])
def test_each_verb_needs_its_own_permission_for_one_for_chosen_ones_and_for_all(
    officer, subscribed, waiting, word
):
    rows = waiting(3)
    restore()
    officers.enable(subscribed.row.pk, **SAID)
    one, chosen, every = rows
    said = {"reason": "please", "confirmed": "1", "typed": "drop all"}
    pick = {**said, "action": word, "_selected_action": str(chosen.pk)}
    other = officer({"release": "drop", "drop": "release"}[word] + "_webhookmessage")
    assert other.post(url("held", word), said).status_code == 403
    other.post(url(word, one.pk), said)
    other.post(LIST, pick)
    assert states(*rows) == ["held"] * 3
    able = officer(f"{word}_webhookmessage")
    assert url(word, one.pk) in read(able, url("change", one.pk))
    assert url("held", word) in read(able, LIST)
    after = {"release": "pending", "drop": "dead"}[word]
    able.post(url(word, one.pk), said)
    assert states(*rows) == [after, "held", "held"]
    able.post(LIST, pick)
    assert states(*rows) == [after, after, "held"]
    assert able.post(url("held", word), said).status_code == 302
    assert states(every) == [after]
