"""A server that refuses us: mail waits, burns nothing, and goes on by itself."""

import threading
from datetime import timedelta

import pytest
from django.test import override_settings

from hubqueue import officers
from hubqueue.api import handler
from hubqueue.errors import MoveRefused
from hubqueue.models import Failure, Job, Operation, Pause
from hubqueue.testing import move_clock, run_due_jobs
from notifications import mail
from notifications.mail import breaker
from notifications.mail.answer import MAIL, answer_to
from notifications.mail.breaker import PROBE, mail_kinds
from notifications.mail.faults import SenderRefused, Stage
from notifications.mail.kept import kept
from tests.notifications.test_mail import compose
from tests.support.mail import mail_server
from tests.support.rival import Rival

pytestmark = pytest.mark.django_db
USER, PASSWORD = "mailer", "hunter2-s3cret"
WRONG = f"535 5.7.8 {USER} {PASSWORD} is wrong"


@handler("test.mail", **MAIL)
def send_one(job, *, to: str):
    try:
        mail.send(compose(to))
    except mail.MailFault as fault:
        return answer_to(fault, job)


@pytest.fixture
def strict():
    """A server that asks for a login, which the settings give."""
    with mail_server(login=(USER, PASSWORD)) as server:
        with override_settings(NOTIFICATIONS_MAIL_URL=server.url):
            yield server
        kept.close_all()


def run(**given):
    return run_due_jobs(queues=["mail"], **given)


def test_a_refused_login_pauses_all_mail_burns_no_attempt_and_ends_by_itself(strict):
    strict.answers["AUTH"] = WRONG
    for n in range(3):
        send_one.enqueue(to=f"p{n}@example.org")
    run()
    assert strict.seen["connections"] == 1, "one refused login is enough to know"
    assert set(Pause.objects.values_list("value", flat=True)) == set(mail_kinds())
    assert {"test.mail", "notifications.deliver"} <= set(mail_kinds())
    assert PROBE not in mail_kinds()
    waiting = Job.objects.filter(kind="test.mail")
    assert {each.attempts for each in waiting} == {0}
    for minutes in (1.1, 3.7, 8.8):
        with move_clock(timedelta(minutes=minutes)):
            run()
            assert Pause.objects.in_force().count() == len(mail_kinds())
    assert (strict.mails, strict.seen["connections"]) == ([], 4)
    strict.answers.clear()
    with move_clock(timedelta(minutes=19)):
        run()
    assert sorted(strict.recipients) == [f"p{n}@example.org" for n in range(3)]
    assert not Pause.objects.exists()
    assert {each.state for each in waiting.all()} == {"SUCCEEDED"}


def test_what_the_server_says_of_user_and_password_is_kept_nowhere(strict, caplog):
    strict.answers["AUTH"] = WRONG
    send_one.enqueue(to="ada@example.org")
    with override_settings(HUBQUEUE={"STORE_ERROR_MESSAGES": True}):
        run()
        with move_clock(timedelta(minutes=2)):
            run()
    kept_ = [
        str(row) for model in (Failure, Job, Operation, Pause) for row in model.objects.values()
    ]
    assert len(kept_) > 3
    for secret in (USER, PASSWORD):
        assert not [each for each in [*kept_, caplog.text] if secret in each]


def test_an_officers_own_pause_is_neither_overwritten_nor_ended(strict):
    officers.pause("kind", "test.mail", actor="olga", reason="looking")
    strict.answers["AUTH"] = [WRONG] * 2
    mail_kinds_ = set(mail_kinds()) - {"test.mail"}

    @handler("test.other_mail", **MAIL)
    def other(job):
        try:
            mail.send(compose())
        except mail.MailFault as fault:
            return answer_to(fault, job)

    other.enqueue()
    send_one.enqueue(to="ada@example.org")
    run()
    ours = set(Pause.objects.filter(paused_by="mail").values_list("value", flat=True))
    assert ours == mail_kinds_ | {"test.other_mail"}
    officers.pause("kind", "notifications.deliver", actor="olga", reason="mine now")
    with move_clock(timedelta(minutes=10)):
        run()
        with move_clock(timedelta(minutes=10)):
            run()
    left = dict(Pause.objects.values_list("value", "paused_by"))
    assert left == {"test.mail": "olga", "notifications.deliver": "olga"}


def test_a_refused_sender_is_found_out_without_sending(smtp):
    smtp.answers["MAIL"] = ["550 5.7.1 not you"] * 2
    send_one.enqueue(to="ada@example.org")
    run()
    for minutes in (2, 10):
        with move_clock(timedelta(minutes=minutes)):
            run()
    assert smtp.recipients == ["ada@example.org"]
    assert not Pause.objects.exists()


def test_an_officer_who_resumes_by_hand_is_heard(strict):
    strict.answers["AUTH"] = [WRONG] * 2
    send_one.enqueue(to="ada@example.org")
    run()
    officers.resume("kind", "test.mail", actor="olga", reason="mended")
    with move_clock(timedelta(seconds=30)):
        run()
    assert strict.recipients == ["ada@example.org"]
    with pytest.raises(MoveRefused):
        officers.resume("kind", "test.mail", actor="olga", reason="again")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("at_sender", [None, WRONG])
def test_a_refusal_while_the_look_ends_waits_for_it_and_neither_is_a_deadlock(
    smtp, monkeypatch, at_sender
):
    refused = SenderRefused(Stage.MAIL, 535)
    breaker.pause_sending(refused)
    smtp.answers["MAIL"] = at_sender
    wait = breaker._wait_for_others
    pausing = []

    def late():
        if threading.current_thread() is threading.main_thread() and not pausing:
            pausing.append(rival.start(lambda: breaker.pause_sending(refused)))
            rival.until_blocked()
        wait()

    monkeypatch.setattr(breaker, "_wait_for_others", late)
    with Rival() as rival:
        with move_clock(timedelta(minutes=2)):
            (looked,) = run(limit=1).runs
        assert pausing[0].result(10) is None
    assert looked.error is None
    assert Pause.objects.in_force().count() == len(mail_kinds())
    assert Job.objects.filter(kind=PROBE, state="READY").exists()


@pytest.mark.parametrize("stage", ["RCPT", "DATA", "END"])
def test_one_message_that_is_told_to_log_in_does_not_hold_up_the_others_for_ever(smtp, stage):
    send_one.enqueue(to="odd@example.org")
    smtp.answers[stage] = "530 5.7.1 log in first"
    hours = 0
    while not (dead := Job.objects.filter(kind="test.mail", state="DEAD").first()):
        with move_clock(timedelta(hours=hours)):
            run()
        hours += 1
        assert hours < 40
    assert (dead.error_code, hours > 24) == ("mail.login_refused", True)
    smtp.answers.clear()
    send_one.enqueue(to="ada@example.org")
    with move_clock(timedelta(hours=hours)):
        run()
    assert smtp.recipients[-1] == "ada@example.org"
