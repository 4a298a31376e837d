"""What follows a failed attempt: eight of them over a day, or what the endpoint asks for; then the end, in words."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from django.db import transaction

from hubqueue import officers
from hubqueue.errors import MoveRefused
from hubqueue.models import Job
from hubqueue.states import Move
from hubqueue.testing import run_due_jobs
from notifications.admin.webhook_cells import standing_of_message
from notifications.categories import category
from notifications.errors import WebhookVerbRefused
from notifications.models import Notification, WebhookDelivery, WebhookMessage
from notifications.rendering import render
from notifications.services import emit
from notifications.webhooks import retention_handler
from notifications.webhooks.backlog import publish_backlog, retry_backlog
from notifications.webhooks.ladder import WAITS, asked_wait, wait_after
from notifications.webhooks.metrics import BACKLOG
from notifications.webhooks.officers import enable, replay
from notifications.webhooks.retention_handler import retain
from tests.support.rival import Rival
from tests.support.wait import until
from tests.webhooks.conftest import happen, run, verified
from tests.webhooks.endpoint import reply

pytestmark = pytest.mark.django_db


def answers(endpoint, *codes, **headers):
    """The endpoint answers with these codes in turn, the last for ever."""
    left = list(codes)
    endpoint.answer = lambda handler: reply(
        handler, left.pop(0) if len(left) > 1 else left[0], b"no", **headers
    )


def waits_for_next():
    job = Job.objects.get(kind="webhooks.deliver", state="READY")
    return job.run_at - WebhookDelivery.objects.latest("id").started_at


def test_an_endpoint_that_fails_for_a_day_is_tried_eight_times_and_then_given_up(
    endpoint, subscribed, later
):
    answers(endpoint, 500)
    happen()
    for rung, wait in enumerate(WAITS, start=1):
        assert wait <= waits_for_next() <= wait * 1.1 + timedelta(seconds=1)
        assert retry_backlog() == 1, rung
        later.to_next_attempt()
        assert len(endpoint.received) == rung + 1
    message = WebhookMessage.objects.get()
    assert (message.state, message.reason, message.attempts) == ("dead", "server_error", 8)
    assert timedelta(hours=23) < later.offset < timedelta(hours=27)
    assert retry_backlog() == 0
    assert not Job.objects.filter(kind="webhooks.deliver").exclude(state="SUCCEEDED").exists()
    assert {each.body for each in endpoint.received} == {bytes(message.body)}
    assert set(endpoint.ids) == {str(message.pk)}
    stamps = [int(each.headers["webhook-timestamp"]) for each in endpoint.received]
    assert stamps == sorted(set(stamps))
    assert verified(endpoint.received[-1], subscribed.secret, offset=later.offset)
    assert subscribed.now.state == "active"


def test_three_dead_messages_in_a_row_switch_it_off_tell_its_owner_and_can_be_replayed(
    endpoint, subscribed, later, owner
):
    answers(endpoint, 400)
    for number in range(3):
        happen(cause=f"c{number}")
        later.to_next_attempt()
        later.to_next_attempt()
    off = subscribed.now
    assert (off.state, off.reason, off.dead_in_row) == ("disabled", "failing", 3)
    told = Notification.objects.get()
    assert (told.recipient, told.category) == (owner, "webhooks.switched_off")
    assert told.subject_id == str(off.pk)
    for language, words in (("en", "was switched off"), ("de", "wurde abgeschaltet")):
        kind = category(told.category)
        mail = render(kind, kind.describe(told), language=language)
        assert words in mail.subject
        assert all("shop" in each and "127.0.0.1" in each for each in (mail.text, mail.html))
        assert f"/webhooksubscription/{off.pk}/" in mail.text
    happen(cause="c3")
    assert len(endpoint.received) == 9, "nothing is sent to one that is off"
    dead = WebhookMessage.objects.order_by("id")
    assert [each.reason for each in dead] == ["refused"] * 3

    answers(endpoint, 500, 204)
    enable(off.pk, actor="ada", reason="repaired")
    for each in dead:
        replay(each.pk, actor="ada", reason="repaired")
    run()
    again = endpoint.received[9:12]
    assert [each.headers["webhook-id"] for each in again] == [str(each.pk) for each in dead]
    assert [each.body for each in again] == [bytes(each.body) for each in dead]
    for each in again:
        verified(each, subscribed.secret, offset=later.offset)
    later.to_next_attempt()
    assert {each.state for each in WebhookMessage.objects.all()} == {"delivered"}
    assert subscribed.now.dead_in_row == 0


def test_a_delivered_message_begins_the_row_anew(endpoint, subscribed, later):
    for codes in ((400,), (400,), (204,), (400,), (400,)):
        answers(endpoint, *codes)
        happen()
        while Job.objects.filter(kind="webhooks.deliver", state="READY").exists():
            later.to_next_attempt()
    assert (subscribed.now.state, subscribed.now.dead_in_row) == ("active", 2)


def test_an_endpoint_that_is_gone_is_switched_off_at_once(endpoint, subscribed):
    answers(endpoint, 410)
    happen()
    assert (subscribed.now.state, subscribed.now.reason) == ("disabled", "gone")
    assert WebhookMessage.objects.get().reason == "gone"
    assert Notification.objects.get().category == "webhooks.switched_off"
    assert len(endpoint.received) == 1


@pytest.mark.parametrize("code", [400, 401, 404, 422])
def test_a_request_that_is_wrong_is_sent_three_times(endpoint, subscribed, later, code):
    answers(endpoint, 500, code)
    happen()
    for _ in range(3):
        later.to_next_attempt()
    assert len(endpoint.received) == 4, "the first answer said nothing of the request"
    assert WebhookMessage.objects.get().reason == "refused"


@pytest.mark.parametrize("code", [429, 503])
def test_retry_after_in_seconds_is_honoured(endpoint, subscribed, later, code):
    answers(endpoint, code, 204, Retry_After="3600")
    happen()
    assert timedelta(hours=1) <= waits_for_next() <= timedelta(minutes=67)
    later.by(timedelta(minutes=59))
    run()
    assert len(endpoint.received) == 1
    later.to_next_attempt()
    assert WebhookMessage.objects.get().state == "delivered"


def test_retry_after_as_a_date_is_honoured(endpoint, subscribed):
    date = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    answers(endpoint, 429, Retry_After=date)
    happen()
    assert timedelta(minutes=119) < waits_for_next() <= timedelta(minutes=133)


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("0", timedelta(0)),
        (" 120 ", timedelta(seconds=120)),
        ("99999999999", None),
        ("9999999999", timedelta(hours=12)),
        ("86400", timedelta(hours=12)),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("١٢٠", None),
        ("Fri, 31 Dec 1999 23:59:59 GMT", timedelta(0)),
        ("Fri, 31 Dec 9999 23:59:59 GMT", timedelta(hours=12)),
        ("Mon, 01 Jun 2026 12:10:00 GMT", timedelta(minutes=10)),
        ("Mon, 01 Jun 2026 12:10:00", timedelta(minutes=10)),
        ("Mon, 99 Jun 2026 12:10:00 GMT", None),
    ],
)
def test_what_retry_after_may_say(text, wait):
    assert asked_wait(text, datetime(2026, 6, 1, 12, tzinfo=UTC)) == wait


def test_what_an_endpoint_asks_for_never_shortens_a_rung():
    assert wait_after(1, timedelta(0)) >= WAITS[0]
    assert wait_after(1, timedelta(hours=3)) >= timedelta(hours=3)
    assert wait_after(8, timedelta(hours=3)) is None


def test_a_slow_success_after_a_crash_and_a_rotation_is_recognised(endpoint, subscribed, later):
    """500, processed but answered too late, 200 twenty minutes later: one id, one body, each signature fresh."""

    def too_late(handler):
        endpoint.over.wait(2)

    answers(endpoint, 500)
    happen()
    endpoint.answer = too_late
    later.to_next_attempt()
    answers(endpoint, 200)
    later.by(timedelta(minutes=20))
    run()
    outcomes = WebhookDelivery.objects.order_by("id").values_list("outcome", flat=True)
    assert list(outcomes) == ["server_error", "too_late", "delivered"]
    assert len(set(endpoint.ids)) == len({each.body for each in endpoint.received}) == 1
    verified(endpoint.received[2], subscribed.secret, offset=later.offset)
    first, last = (int(endpoint.received[n].headers["webhook-timestamp"]) for n in (0, 2))
    assert last - first >= 1200


def test_a_job_that_an_officer_cancels_leaves_a_dead_message(endpoint, subscribed):
    answers(endpoint, 500)
    happen()
    job = Job.objects.get(kind="webhooks.deliver", state="READY")
    list(officers.each(Move.CANCEL, [job.pk], actor="ada", reason="enough"))
    assert WebhookMessage.objects.get().reason == "given_up"


def test_the_duty_publishes_the_backlog(endpoint, subscribed):
    answers(endpoint, 500)
    happen()
    happen()
    publish_backlog()
    assert BACKLOG._value.get() == 2


def test_a_dead_job_whose_message_ended_says_that_the_message_is_replayed(endpoint, subscribed):
    answers(endpoint, 500)
    happen()
    job = Job.objects.get(kind="webhooks.deliver", state="READY")
    Job.objects.filter(pk=job.pk).update(state="DEAD", finished_at=datetime.now(UTC))
    assert officers.redrive(job.pk, actor="ada", reason="mended") == "READY"
    Job.objects.filter(pk=job.pk).update(state="DEAD", finished_at=datetime.now(UTC))
    WebhookMessage.objects.update(
        state="dead", reason="given_up", finished_at=datetime.now(UTC), next_attempt_at=None
    )
    with pytest.raises(MoveRefused, match="replay it from its own page"):
        officers.redrive(job.pk, actor="ada", reason="mended")


def test_many_old_messages_are_removed_in_batches(endpoint, subscribed, later, monkeypatch):
    monkeypatch.setattr(retention_handler, "BATCH", 1)
    happen()
    happen()
    later.by(timedelta(days=31))
    retain.enqueue()
    run_due_jobs(kinds=[retain])
    assert not WebhookMessage.objects.exists()
    assert not WebhookDelivery.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_what_is_replayed_at_this_moment_is_not_removed(endpoint, subscribed):
    happen()
    WebhookMessage.objects.update(
        state="dead", reason="given_up", finished_at=datetime.now(UTC) - timedelta(days=31)
    )
    retain.enqueue()
    with Rival() as rival:
        with transaction.atomic():
            replay(WebhookMessage.objects.get().pk, actor="olga", reason="mended")
            removing = rival.start(lambda: run_due_jobs(kinds=[retain]))
            until(lambda: removing.done() or rival.is_blocked(), message="the retention")
        assert not removing.result(10).failures
    run()
    assert WebhookMessage.objects.get().state == "delivered"


def test_what_ended_is_kept_for_a_while_and_what_waits_for_ever(endpoint, subscribed, later):
    happen()
    answers(endpoint, 500)
    happen()
    for days, left in ((29, 2), (2, 1)):
        later.by(timedelta(days=days))
        retain.enqueue()
        run_due_jobs(kinds=[retain])
        assert WebhookMessage.objects.count() == left
    assert WebhookMessage.objects.get().state == "pending"


def test_a_waiting_message_that_lost_its_job_is_replayed(endpoint, subscribed):
    emit("test.happened", data={})
    run_due_jobs(kinds=["webhooks.dispatch"])
    message = WebhookMessage.objects.get()
    with pytest.raises(WebhookVerbRefused, match="only a dead message"):
        replay(message.pk, actor="olga", reason="too early")
    Job.objects.all().delete()
    assert "No job is there any more" in standing_of_message(message, datetime.now(UTC))[0]
    replay(message.pk, actor="olga", reason="the queue was emptied by hand")
    run()
    assert endpoint.ids == [str(message.pk)]
    message.refresh_from_db()
    assert (message.state, message.ladder) == ("delivered", 2)
