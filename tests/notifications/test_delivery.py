"""Step two: a recorded message is sent once, late rather than never, and its record says what became of it."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.test import override_settings
from django.utils import timezone

from hubqueue import officers
from hubqueue.models import Job, Pause
from hubqueue.testing import move_clock, run_due_jobs, steal_lease
from notifications.categories import Subject, _categories, register
from notifications.deliver_handler import deliver
from notifications.mail.kept import kept
from notifications.models import Notification, Preference
from notifications.services import notify
from notifications.trial import TRIAL
from tests.support.mail import DROP, HANG

pytestmark = pytest.mark.django_db
State = Notification.State
DELIVER = "notifications.deliver"


@pytest.fixture
def category():
    """The trial category as the test wants it."""
    yield lambda **given: register(replace(TRIAL, **given))
    register(TRIAL)


def person(name, **fields):
    said = {"email": f"{name}@example.org", **fields}
    return get_user_model().objects.create(username=name, **said)


def told(*people, cause="c1", **given):
    made = notify(TRIAL.name, people, cause=cause, **given)
    return [Notification.objects.get(pk=each) for each in made]


def run():
    return run_due_jobs(kinds=[DELIVER])


def fresh(*records):
    """State, reason, attempts and whether it may have arrived twice."""
    for each in records:
        each.refresh_from_db()
    said = [
        (each.state, each.reason, each.attempts, each.uncertain_since is not None)
        for each in records
    ]
    return said[0] if len(said) == 1 else said


def test_what_is_recorded_is_sent_and_says_so(smtp, category):
    category(suppressible=True)
    (record,) = told(person("ada", first_name="Ada", last_name="Lovelace"))
    assert not run().failures
    (sent,) = smtp.mails
    assert sent.message["To"] == "Ada Lovelace <ada@example.org>"
    assert sent.message["Message-ID"] == f"<{record.pk}@jobs.example>"
    assert sent.message["List-Unsubscribe"].startswith("<http")
    assert fresh(record) == (State.SENT, "", 1, False)
    assert record.finished_at is not None


def test_a_finished_record_is_not_sent_again(smtp):
    (record,) = told(person("ada"))
    run()
    deliver.enqueue(notification_id=record.pk)
    assert not run().failures
    assert len(smtp.mails) == 1


def test_a_kind_of_mail_that_was_switched_off_meanwhile_is_not_sent(smtp, category):
    category(suppressible=True)
    ada = person("ada")
    (record,) = told(ada)
    Preference.objects.create(person=ada, category=TRIAL.name, since=timezone.now())
    run()
    assert smtp.mails == []
    assert fresh(record) == (State.SUPPRESSED, "switched_off", 0, False)


def test_what_became_of_recipient_subject_and_category_counts_when_it_is_sent(smtp, category):
    people = [person(each) for each in ("left", "mute", "odd")]
    records = told(*people)
    type(people[0]).objects.filter(pk=people[0].pk).update(is_active=False)
    type(people[1]).objects.filter(pk=people[1].pk).update(email="")
    type(people[2]).objects.filter(pk=people[2].pk).update(email="ödd@example.org")
    run()
    by_person = {each.recipient_id: fresh(each)[:2] for each in records}
    assert [by_person[each.pk] for each in people] == [
        (State.SUPPRESSED, "left"),
        (State.SUPPRESSED, "no_address"),
        (State.FAILED, "address_unsendable"),
    ]
    gone, unknown = (told(person(f"{n}"), cause="c2")[0] for n in range(2))
    Notification.objects.filter(pk=unknown.pk).update(category="test.removed")
    category(describe=lambda record: None)
    run()
    assert fresh(gone, unknown) == [
        (State.SUPPRESSED, "subject_gone", 0, False),
        (State.SUPPRESSED, "category_gone", 0, False),
    ]
    assert smtp.mails == []


@pytest.mark.parametrize("wrong", ["\r\nBcc: eve@example.org", "\nSubject: x", "\x00", "\u2028x"])
def test_no_name_or_subject_makes_a_header_or_a_second_recipient(smtp, category, wrong):
    category(describe=lambda record: Subject({"moment": wrong}))
    told(person("ada", first_name="Ada" + wrong.replace("\x00", "\x01"), last_name="<x@y.z>"))
    assert not run().failures
    (sent,) = smtp.mails
    assert sent.recipient == "ada@example.org"
    assert sent.message["To"] == "ada@example.org"
    assert sent.message["Bcc"] is None
    assert len(sent.message.get_all("Subject")) == 1


@pytest.mark.parametrize(
    ("address", "wire"),
    [
        ("u@faß.de", "u@xn--fa-hia.de"),
        ("u@bücher.example", "u@xn--bcher-kva.example"),
        ("u@xn--bcher-kva.example", "u@xn--bcher-kva.example"),
        ('"quoted local"@example.org', '"quoted local"@example.org'),
        ("o'hara+x@example.org", "o'hara+x@example.org"),
    ],
)
def test_an_odd_address_is_written_to_as_the_wire_wants_it(smtp, address, wire):
    (record,) = told(person("ada", email=address, first_name="Ada"))
    assert not run().failures
    assert smtp.recipients == [wire]
    assert smtp.mails[0].message["To"].addresses[0].addr_spec == wire
    assert smtp.mails[0].wire.isascii()
    assert fresh(record)[0] == State.SENT


REFUSED = [
    ("RCPT", "550 5.1.1 unknown", "address_refused"),
    ("RCPT", "552 5.2.2 full", "address_refused"),
    ("RCPT", "554 5.7.1 no", "address_refused"),
    ("DATA", "554 5.5.1 no", "message_refused"),
    ("END", "552 5.3.4 too large", "message_refused"),
]


@pytest.mark.parametrize(("stage", "reply", "reason"), REFUSED)
def test_a_final_refusal_fails_one_record_and_holds_up_no_other(smtp, stage, reply, reason):
    people = [person(f"p{n}") for n in range(5)]
    records = told(*people)
    asked = []

    def answer(argument):
        asked.append(argument)
        bad = "p2@" in argument if stage != "DATA" else len(asked) == 3
        return reply if bad else None

    smtp.answers[stage] = answer
    report = run()
    assert not report.failures
    assert set(report.settled) == {(DELIVER, "SUCCEEDED")}
    failed = [each for each in records if fresh(each)[0] == State.FAILED]
    assert [(fresh(each)) for each in failed] == [(State.FAILED, reason, 1, False)]
    assert len(smtp.mails) == len(set(smtp.recipients)) == 4


@pytest.mark.parametrize(
    "reply", ["421 4.3.2 down", "450 4.2.0 grey", "451 4.3.0 x", "452 4.2.2 x"]
)
@pytest.mark.parametrize("stage", ["MAIL", "RCPT", "DATA", "END"])
def test_a_temporary_refusal_is_tried_again_with_growing_gaps_and_is_not_uncertain(
    smtp, stage, reply
):
    (record,) = told(person("ada"))
    smtp.answers[stage] = lambda _: reply
    for count, seconds in enumerate([0, 31, 100], start=1):
        with move_clock(timedelta(seconds=seconds)):
            assert [each.code for each in run().failures] == ["mail.try_later"]
        assert fresh(record) == (State.PENDING, "", count, False)
        assert record.sending_since is None
    smtp.answers.clear()
    with move_clock(timedelta(minutes=10)):
        run()
    assert fresh(record) == (State.SENT, "", 4, False)
    assert len(smtp.mails) == 1


def test_a_greylisting_is_waited_out_for_a_day_and_then_given_up(smtp):
    (record,) = told(person("ada"))
    smtp.answers["RCPT"] = "450 4.2.0 greylisted"
    hours = 0.0
    while Job.objects.get(kind=DELIVER).state != "DEAD":
        with move_clock(timedelta(hours=hours)):
            run()
        assert hours < 30
        hours += 2.51
    assert hours > 24
    assert fresh(record)[:2] == (State.FAILED, "gave_up")
    assert record.attempts >= 10
    assert smtp.mails == []


@pytest.mark.parametrize("answer", [DROP, HANG])
def test_a_connection_that_dies_after_the_data_leaves_it_uncertain_and_sends_again(smtp, answer):
    (record,) = told(person("ada"))
    smtp.answers["END"] = [answer]
    with override_settings(NOTIFICATIONS_MAIL_TIMEOUT=0.3):
        run()
    assert fresh(record) == (State.UNCERTAIN, "", 1, True)
    with move_clock(timedelta(minutes=1)):
        run()
    assert fresh(record) == (State.SENT, "", 2, True)
    first, second = (each.message["Message-ID"] for each in smtp.mails)
    assert first == second


def test_a_drop_before_the_answer_to_data_is_no_doubt(smtp):
    (record,) = told(person("ada"))
    smtp.answers["DATA"] = [DROP]
    run()
    assert fresh(record) == (State.PENDING, "", 1, False)


@override_settings(NOTIFICATIONS_RESEND_UNCERTAIN=False)
def test_where_an_officer_decides_an_uncertain_message_is_not_sent_again(smtp):
    ada, bob = told(person("ada"), person("bob"))
    smtp.answers["END"] = lambda argument: DROP if "ada" in argument else None
    Notification.objects.filter(pk=bob.pk).update(sending_since=timezone.now())
    assert not run().failures
    with move_clock(timedelta(days=2)):
        run()
    assert smtp.recipients == ["ada@example.org"]
    assert fresh(ada, bob) == [(State.UNCERTAIN, "", 1, True), (State.UNCERTAIN, "", 0, True)]


def test_an_attempt_that_finds_an_earlier_one_in_the_middle_calls_it_uncertain(smtp):
    (record,) = told(person("ada"))
    Notification.objects.filter(pk=record.pk).update(sending_since=timezone.now(), attempts=1)
    run()
    assert fresh(record) == (State.SENT, "", 2, True)


def test_who_lost_the_job_sends_nothing(smtp, monkeypatch):
    (record,) = told(person("ada"))
    job = Job.objects.get()
    take = kept.take

    def late(server):
        steal_lease(job.pk)
        return take(server)

    monkeypatch.setattr(kept, "take", late)
    assert [each.state for each in run().runs] == [None]
    assert smtp.seen["RCPT"] == 1
    assert smtp.mails == []
    assert fresh(record) == (State.PENDING, "", 0, False)


def test_a_bug_in_a_category_or_a_template_is_an_ordinary_failed_attempt(smtp, category):
    def broken(record):
        raise LookupError("secret of ada")

    category(describe=broken)
    (record,) = told(person("ada"))
    assert [each.code for each in run().failures] == ["exception"]
    category(describe=lambda record: Subject())
    category(name="test.without_templates")
    Notification.objects.update(category="test.without_templates")
    with move_clock(timedelta(minutes=1)):
        assert len(run().failures) == 1
    _categories.pop("test.without_templates")
    assert fresh(record) == (State.PENDING, "", 0, False)
    assert smtp.mails == []


def test_what_is_cancelled_or_given_up_fails_unless_it_may_have_arrived(smtp):
    cancelled, dead, doubtful = told(person("ada"), person("bob"), person("eve"))
    Notification.objects.filter(pk=doubtful.pk).update(sending_since=timezone.now())
    job = {each.payload["notification_id"]: each for each in Job.objects.filter(kind=DELIVER)}
    officers.cancel(job[str(cancelled.pk)].pk, actor="olga", reason="no")
    for each in (dead, doubtful):
        Job.objects.filter(pk=job[str(each.pk)].pk).update(
            attempts=99, failing_since=timezone.now()
        )
    smtp.answers["OPEN"] = DROP
    with move_clock(timedelta(days=2)):
        run()
    assert [each[:2] for each in fresh(cancelled, dead, doubtful)] == [
        (State.FAILED, "cancelled"),
        (State.FAILED, "gave_up"),
        (State.UNCERTAIN, ""),
    ]


def test_a_minted_credential_is_fresh_in_each_sending_with_an_id_of_its_own(smtp, category):
    minted = []

    def mint(record, subject):
        minted.append(f"token-{len(minted)}")
        return replace(subject, path=f"/#{minted[-1]}")

    category(mint=mint)
    (record,) = told(person("ada"))
    smtp.answers["END"] = [DROP]
    run()
    assert fresh(record) == (State.UNCERTAIN, "", 1, True)
    smtp.answers["RCPT"] = ["450 4.2.0 later"]
    with move_clock(timedelta(minutes=1)):
        run()
    assert fresh(record) == (State.UNCERTAIN, "", 2, True)
    assert record.sending_since is None
    with move_clock(timedelta(hours=1)):
        run()
    assert fresh(record) == (State.SENT, "", 3, True)
    first, second = (each.message for each in smtp.mails)
    assert "token-0" in str(first)
    assert "token-2" in str(second)
    assert first["Message-ID"] != second["Message-ID"]


def test_a_refused_login_leaves_the_record_as_it_was(smtp):
    (record,) = told(person("ada"))
    smtp.answers["MAIL"] = "535 5.7.8 no"
    run()
    assert fresh(record) == (State.PENDING, "", 0, False)
    assert Job.objects.get(kind=DELIVER).attempts == 0
    assert Pause.objects.filter(value=DELIVER, paused_by="mail").exists()


def test_without_a_sender_mail_waits_and_burns_nothing(smtp, category):
    (record,) = told(person("ada"))
    with override_settings(NOTIFICATIONS_FROM=""):
        assert [each.code for each in run().failures] == ["mail.not_set"]
    assert Job.objects.get(kind=DELIVER).attempts == 0
    assert Pause.objects.filter(value=DELIVER, paused_by="mail").exists()
    with move_clock(timedelta(minutes=2)):
        run_due_jobs(queues=["mail"])
    assert fresh(record) == (State.SENT, "", 1, False)


def test_whose_account_is_deleted_at_the_last_moment_gets_nothing(smtp, monkeypatch):
    ada = person("ada")
    told(ada)
    take = kept.take
    monkeypatch.setattr(kept, "take", lambda server: (ada.delete(), take(server))[1])
    assert not run().failures
    assert smtp.seen["RCPT"] == 1
    assert smtp.mails == []
