"""A forgotten password: the call tells nobody whether there is an account, a worker finds out."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.conf import conf
from accounts.credentials import mint
from accounts.errors import LinkSpent
from accounts.hashes import address_key
from accounts.models import AddressRequest, Credential, Tally
from accounts.purge import purge
from accounts.services import forgot_password, look_at_link
from hubqueue.models import Job
from hubqueue.testing import move_clock, run_due_jobs, steal_lease
from tests.accounts.conftest import person, run_all, token_in
from tests.accounts.scan import tables_with
from tests.support.mail import DROP

pytestmark = pytest.mark.django_db


def ask(address, **meta):
    return Client().post(reverse("admin_password_reset"), {"address": address}, **meta)


def test_each_open_account_of_an_address_gets_a_link_whatever_its_case(smtp):
    person("ada", email="Ada@Example.org")
    person("bob", email="ada@example.org")
    person("gone", email="ada@example.org", is_active=False)
    person("elsewhere", email="ada@example.com")
    forgot_password("  ADA@example.ORG ", "")
    run_all()
    assert sorted(smtp.recipients) == ["Ada@example.org", "ada@example.org"]
    assert len({token_in(each) for each in smtp.mails}) == 2


def test_an_account_whose_password_was_taken_away_gets_none(smtp):
    person("ada", password=None)
    forgot_password("ada@example.org", "")
    run_all()
    assert smtp.mails == []


def test_letters_that_only_look_alike_to_the_database_are_others(smtp):
    person("mike", email="mike@example.org")
    forgot_password("m\u0131ke@example.org", "")
    run_all()
    assert smtp.mails == []


@pytest.mark.usefixtures("ada")
def test_the_request_does_the_same_and_says_the_same_whether_there_is_an_account_or_not():
    answers, statements = [], []
    for address in ("ada@example.org", "nobody@example.org"):
        client = Client()
        client.get(reverse("admin_password_reset"))
        with CaptureQueriesContext(connection) as seen:
            answer = client.post(reverse("admin_password_reset"), {"address": address}, follow=True)
        shown = answer.content.decode()
        answers.append((answer.redirect_chain, shown, dict(answer.headers)))
        statements.append([re.sub(r"'[^']*'|\d+", "?", each["sql"]) for each in seen])
    assert answers[0] == answers[1]
    assert "If there is an account" in answers[0][1]
    assert statements[0] == statements[1]
    assert not any("auth_user" in each for each in statements[0])


@pytest.mark.usefixtures("ada")
def test_a_flood_for_one_address_is_one_job_and_one_mail(smtp, settings):
    settings.ACCOUNTS_ASKS_PER_ADDRESS = 100
    for spelling in ("ada@example.org", "ADA@example.org", "Ada@Example.Org ") * 10:
        forgot_password(spelling, "")
    assert Job.objects.count() == AddressRequest.objects.count() == 1
    run_all()
    assert len(smtp.mails) == 1
    assert not AddressRequest.objects.exists()


def test_the_address_is_in_no_payload_and_in_no_row_but_one():
    forgot_password("nobody@example.org", "192.0.2.7")
    job = Job.objects.get()
    assert (
        job.payload == {"request": address_key("nobody@example.org")} == {"request": job.dedupe_key}
    )
    assert tables_with("nobody@example") == {"accounts_addressrequest"}
    assert tables_with("192.0.2.7") == set()
    run_all()
    assert tables_with("nobody@example") == set()


@pytest.mark.usefixtures("ada")
def test_an_address_of_which_a_worker_never_heard_is_gone_after_a_day():
    forgot_password("ada@example.org", "")
    purge()
    assert AddressRequest.objects.count() == 1
    with move_clock(timedelta(hours=24)):
        purge()
        assert not AddressRequest.objects.exists()
        assert not Tally.objects.exists()
        assert run_due_jobs().settled["accounts.password_reset_request", "SUCCEEDED"] == 1


def test_past_the_limit_of_an_address_nothing_comes_and_nobody_is_told(ada, smtp, caplog):
    said = set()
    for _ in range(conf().accounts_asks_per_address + 2):
        said.add(ask("ada@example.org").status_code)
        run_all()
    assert said == {302}
    assert len(smtp.mails) == conf().accounts_asks_per_address
    assert "accounts.forgotten_limited by=address" in caplog.text
    assert "ada@" not in caplog.text
    with move_clock(conf().window):
        ask("ada@example.org")
        run_all()
    assert len(smtp.mails) == conf().accounts_asks_per_address + 1


def test_past_the_limit_of_a_client_its_calls_come_to_nothing_and_those_of_others_do_not():
    most = conf().accounts_asks_per_client
    for number in range(most + 3):
        assert ask(f"p{number}@example.org", REMOTE_ADDR="192.0.2.7").status_code == 302
    assert AddressRequest.objects.count() == most
    ask("other@example.org", REMOTE_ADDR="192.0.2.8")
    assert AddressRequest.objects.count() == most + 1


def test_what_is_no_address_is_said_at_its_field():
    answer = ask("nobody").content.decode()
    assert 'aria-invalid="true"' in answer
    assert 'id="id_address_error"' in answer
    assert not Tally.objects.exists()


def test_the_admins_login_page_leads_here(client):
    shown = client.get(reverse("admin:login")).content.decode()
    assert f'href="{reverse("admin_password_reset")}"' in shown


@pytest.mark.usefixtures("ada")
def test_a_repeated_attempt_mints_another_link_and_its_mail_is_no_double_of_the_first(smtp):
    smtp.answers["END"] = [DROP, None]
    forgot_password("ada@example.org", "")
    assert [each.code for each in run_due_jobs().failures] == ["mail.unanswered"]
    with move_clock(timedelta(minutes=2)):
        run_all()
    first, second = smtp.mails
    assert first.message["Message-ID"] != second.message["Message-ID"]
    with pytest.raises(LinkSpent):
        look_at_link(token_in(first))
    look_at_link(token_in(second))


@pytest.mark.usefixtures("ada")
def test_without_a_sender_the_mail_waits_and_burns_nothing(smtp, settings):
    given, settings.NOTIFICATIONS_FROM = settings.NOTIFICATIONS_FROM, ""
    forgot_password("ada@example.org", "")
    assert [each.code for each in run_due_jobs().failures] == ["mail.not_set"]
    assert Job.objects.get(kind="accounts.password_reset").attempts == 0
    settings.NOTIFICATIONS_FROM = given
    with move_clock(timedelta(minutes=2)):
        run_all()
    assert smtp.recipients == ["ada@example.org"]


def test_an_attempt_whose_lease_was_lost_mints_nothing(ada, smtp, monkeypatch):
    def stolen(person_id):
        steal_lease(Job.objects.get(kind="accounts.password_reset").pk)
        return ada

    monkeypatch.setattr("accounts.mailing.active_person", stolen)
    forgot_password("ada@example.org", "")
    assert [each.state for each in run_due_jobs().runs][-1] is None
    assert not Credential.objects.exists()
    assert smtp.mails == []


def test_whoever_left_meanwhile_gets_no_mail(ada, smtp):
    forgot_password("ada@example.org", "")
    run_due_jobs(kinds=["accounts.password_reset_request"])
    ada.is_active = False
    ada.save()
    run_all()
    assert smtp.mails == []


def test_an_address_that_no_mail_can_be_sent_to_ends_its_job_with_a_code_that_names_none(smtp):
    person("ada", email="\u00fcser@example.org")
    forgot_password("\u00fcser@example.org", "")
    run_all()
    assert smtp.mails == []
    job = Job.objects.get(kind="accounts.password_reset")
    assert (job.state, job.result) == ("SUCCEEDED", "notifications.address_unsendable")


def test_people_are_found_by_an_index_whatever_the_case():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    found = get_user_model().objects.filter(email__iexact="ada@example.org")
    assert "accounts_person_address" in found.explain()


def test_a_client_past_its_limit_uses_up_nobodys_address(ada, smtp):
    for number in range(conf().accounts_asks_per_client):
        ask(f"p{number}@example.org", REMOTE_ADDR="192.0.2.7")
    for _ in range(conf().accounts_asks_per_address):
        ask(ada.email, REMOTE_ADDR="192.0.2.7")
    ask(ada.email, REMOTE_ADDR="192.0.2.8")
    run_all()
    assert smtp.recipients == [ada.email]


def test_an_account_whose_password_was_taken_away_meanwhile_gets_none(ada, smtp):
    forgot_password(ada.email, "")
    run_due_jobs(kinds=["accounts.password_reset_request"])
    ada.set_unusable_password()
    ada.save()
    run_all()
    assert smtp.mails == []
    assert not Credential.objects.exists()


def test_an_address_that_was_left_while_the_link_was_minted_gets_none_that_works(
    ada, smtp, monkeypatch
):
    def minted(person_id, *args, **kwargs):
        get_user_model().objects.update(email="new@example.org")
        return mint(person_id, *args, **kwargs)

    monkeypatch.setattr("accounts.credentials.mint", minted)
    forgot_password(ada.email, "")
    run_all()
    assert smtp.recipients == ["new@example.org"]
