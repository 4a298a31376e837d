"""After the delivery: officers send again, records are forgotten in time, and numbers tell what happened."""

import logging
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import override_settings
from django.utils import timezone
from prometheus_client import REGISTRY

from hubqueue.errors import MoveRefused
from hubqueue.ids import uuid7
from hubqueue.models import Job, Operation
from hubqueue.officers import redrive, redrive_many
from hubqueue.testing import move_clock, run_due_jobs
from notifications import retention_handler
from notifications.errors import NotificationNotFound, ResendRefused
from notifications.models import Notification
from notifications.officers import resend
from notifications.retention_handler import forget
from tests.notifications.test_delivery import fresh, person, run, told
from tests.support.rival import Rival

pytestmark = pytest.mark.django_db
State = Notification.State


def test_an_officer_sends_a_failed_message_again(smtp):
    (record,) = told(person("ada"))
    smtp.answers["RCPT"] = ["550 5.1.1 unknown"]
    run()
    assert fresh(record)[0] == State.FAILED
    job = resend(record.pk, actor="olga", reason="the address exists now")
    assert fresh(record)[:2] == (State.PENDING, "")
    entry = Operation.objects.get(verb="notifications.resend")
    assert (entry.actor, entry.job_id) == ("olga", job)
    assert str(record.pk) in entry.target
    run()
    assert fresh(record) == (State.SENT, "", 2, False)
    assert len(smtp.mails) == 1


@override_settings(NOTIFICATIONS_RESEND_UNCERTAIN=False)
def test_an_officer_decides_about_an_uncertain_message_and_the_doubt_stays_on_record(smtp):
    (record,) = told(person("ada"))
    Notification.objects.filter(pk=record.pk).update(sending_since=timezone.now())
    run()
    assert fresh(record)[0] == State.UNCERTAIN
    resend(record.pk, actor="olga", reason="she has nothing")
    run()
    assert fresh(record) == (State.SENT, "", 1, True)


def test_what_is_sent_waits_or_is_unknown_is_not_sent_again(smtp):
    sent, waiting = told(person("ada"), person("bob"))
    Notification.objects.filter(pk=sent.pk).update(state=State.SENT, finished_at=timezone.now())
    with pytest.raises(ResendRefused, match="only a failed or uncertain one"):
        resend(sent.pk, actor="olga", reason="x")
    for state, since in ((State.PENDING, None), (State.UNCERTAIN, timezone.now())):
        Notification.objects.filter(pk=waiting.pk).update(state=state, uncertain_since=since)
        with pytest.raises(ResendRefused, match="still under way"):
            resend(waiting.pk, actor="olga", reason="x")
    with pytest.raises(NotificationNotFound):
        resend(uuid7(), actor="olga", reason="x")
    assert not Operation.objects.filter(verb="notifications.resend").exists()


def test_finished_records_are_forgotten_after_the_retention_batch_by_batch(smtp, monkeypatch):
    monkeypatch.setattr(retention_handler, "BATCH", 2)
    records = told(*[person(f"p{n}") for n in range(6)])
    for each in records[:5]:
        Notification.objects.filter(pk=each.pk).update(state=State.SENT, finished_at=timezone.now())
    Notification.objects.filter(pk=records[5].pk).update(
        state=State.UNCERTAIN, uncertain_since=timezone.now()
    )
    Job.objects.all().delete()
    for days, left in ((89, 6), (91, 1)):
        forget.enqueue()
        with move_clock(timedelta(days=days)):
            assert not run_due_jobs(kinds=[forget]).failures
        assert Notification.objects.count() == left
    assert Notification.objects.get().state == State.UNCERTAIN


@pytest.mark.django_db(transaction=True)
def test_what_an_officer_sends_again_at_this_moment_is_not_forgotten(smtp):
    (record,) = told(person("ada"))
    Job.objects.all().delete()
    Notification.objects.update(
        state=State.FAILED, reason="gave_up", finished_at=timezone.now() - timedelta(days=91)
    )
    forget.enqueue()
    with Rival() as rival:
        with transaction.atomic():
            resend(record.pk, actor="olga", reason="late rather than never")
            forgetting = rival.start(lambda: run_due_jobs(kinds=[forget]))
            rival.until_blocked()
        assert not forgetting.result(10).failures
    run()
    assert fresh(record)[0] == State.SENT


def test_a_waiting_message_that_lost_its_job_is_sent_again_by_an_officer(smtp):
    (record,) = told(person("ada"))
    Job.objects.all().delete()
    resend(record.pk, actor="olga", reason="the queue was emptied by hand")
    run()
    assert fresh(record)[0] == State.SENT


def test_the_retention_runs_every_day():
    from hubqueue.registry import registry

    assert registry.schedules["notifications.retention"].cron == "23 3 * * *"


def value(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0


def test_endings_and_sendings_are_counted_under_bounded_labels(
    smtp, django_capture_on_commit_callbacks
):
    ada, bob, eve = person("ada"), person("bob"), person("eve", email="")

    def counts():
        return [
            value(
                "notifications_ended_total", category="notifications.test", state="sent", reason=""
            ),
            value(
                "notifications_ended_total",
                category="notifications.test",
                state="suppressed",
                reason="no_address",
            ),
            value(
                "notifications_ended_total",
                category="unknown",
                state="suppressed",
                reason="category_gone",
            ),
            value("notifications_send_seconds_count", outcome="sent"),
            value("notifications_send_seconds_count", outcome="mail.try_later"),
        ]

    before = counts()
    with django_capture_on_commit_callbacks(execute=True):
        records = told(ada, bob, eve)
    gone = next(each for each in records if each.recipient_id == bob.pk)
    Notification.objects.filter(pk=gone.pk).update(category="test.removed")
    smtp.answers["END"] = ["450 4.2.0 later"]
    run()
    with move_clock(timedelta(minutes=1)):
        run()
    after = counts()
    assert [now - then for then, now in zip(before, after, strict=True)] == [1, 1, 1, 1, 1]


def test_logs_hold_codes_and_no_address(smtp, caplog):
    caplog.set_level(logging.INFO)
    told(person("ada", email="ada.secret@example.org"))
    smtp.answers["RCPT"] = ["450 4.2.0 <ada.secret@example.org> later"]
    run()
    smtp.answers["RCPT"] = ["550 5.1.1 <ada.secret@example.org> unknown"]
    with move_clock(timedelta(minutes=1)):
        run()
    assert "mail.try_later at rcpt, reply 450" in caplog.text
    assert "mail.address_refused at rcpt, reply 550" in caplog.text
    assert "notifications.test failed address_refused" in caplog.text
    assert "secret" not in caplog.text


def test_a_message_whose_job_is_redriven_is_sent(smtp):
    (record,) = told(person("ada"))
    Job.objects.update(attempts=99, failing_since=timezone.now() - timedelta(days=2))
    run()
    job = Job.objects.get()
    assert (job.state, fresh(record)[0]) == ("DEAD", State.FAILED)
    (answer,) = redrive_many([job.pk], actor="olga", reason="the server is back")
    assert (answer.state, fresh(record)[:2]) == ("READY", (State.PENDING, ""))
    run()
    assert fresh(record)[0] == State.SENT
    assert len(smtp.mails) == 1


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (State.SENT, "sent already: see its page"),
        (State.SUPPRESSED, "held back on purpose"),
        (State.HELD, "released or dropped"),
        (None, "past its retention"),
    ],
)
def test_a_job_whose_message_ended_otherwise_refuses_to_be_redriven_and_says_where_to_look(
    smtp, state, said
):
    (record,) = told(person("ada"))
    now = timezone.now()
    Job.objects.update(state="DEAD", finished_at=now)
    if state is None:
        Notification.objects.all().delete()
    else:
        ended = now if state in Notification.FINISHED else None
        Notification.objects.update(state=state, finished_at=ended)
    with pytest.raises(MoveRefused, match=said):
        redrive(Job.objects.get().pk, actor="olga", reason="x")
    assert Job.objects.get().state == "DEAD"
