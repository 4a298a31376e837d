"""A new address: asked for with the current password, confirmed at the new one, told of at the old one."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from accounts.conf import conf
from accounts.credentials import mint
from accounts.errors import LinkSpent, TooMany
from accounts.models import AddressChange, Credential, FormerAddress
from accounts.purge import purge
from accounts.services import (
    confirm_address,
    forgot_password,
    look_at_link,
    request_address_change,
    set_password,
)
from hubqueue.api import JobContext
from hubqueue.models import Job
from hubqueue.testing import move_clock, run_due_jobs
from notifications.errors import AddressUnsendable
from tests.accounts.conftest import NEW, PASSWORD, mails_to, person, run_all, text_of, token_in
from tests.accounts.scan import tables_with

pytestmark = pytest.mark.django_db
CHANGE = "accounts-change-address"


def ask(client, address="new@example.org", password=PASSWORD):
    said = {"new_address": address, "current_password": password}
    return client.post(reverse(CHANGE), said).content.decode()


def test_an_address_is_changed_by_the_link_that_went_there_and_both_are_told(ada, client, smtp):
    client.force_login(ada)
    assert "on its way to the new address" in ask(client)
    ada.refresh_from_db()
    assert ada.email == "ada@example.org"
    run_all()
    (mail,) = smtp.mails
    assert mail.recipient == "new@example.org"
    answer = Client().post(reverse("accounts-address-confirmed"), {"token": token_in(mail)})
    assert "Address confirmed" in answer.content.decode()
    ada.refresh_from_db()
    assert ada.email == "new@example.org"
    run_all()
    assert "another address from now on" in text_of(mails_to(smtp, "ada@example.org")[0])
    assert "new@example.org" not in text_of(mails_to(smtp, "ada@example.org")[0])
    assert "this one" in text_of(mails_to(smtp, "new@example.org")[1])
    assert tables_with("ada@example.org") == set()
    assert not AddressChange.objects.exists()


def test_the_current_password_is_asked_for_and_guesses_are_counted(ada, client):
    client.force_login(ada)
    for _ in range(conf().accounts_tries_per_person):
        said = ask(client, password="a guess")
        assert "This is not your password." in said
        assert re.search(r'<input[^>]*name="current_password"[^>]*autofocus', said)
    assert "That was too often" in ask(client)
    assert not Job.objects.exists()
    with move_clock(conf().window):
        assert "on its way" in ask(client)


def test_whoever_is_not_logged_in_is_asked_to(client):
    answer = client.get(reverse(CHANGE))
    assert answer.headers["Location"] == f"{reverse('accounts-login')}?next={reverse(CHANGE)}"
    assert "Log in" in client.get(answer.headers["Location"]).content.decode()


def test_the_newest_wish_is_the_one_that_counts_from_the_moment_it_is_said(ada, smtp):
    request_address_change(ada, "first@example.org")
    run_all()
    request_address_change(ada, "second@example.org")
    with pytest.raises(LinkSpent):
        confirm_address(token_in(smtp.mails[0]))
    run_all()
    confirm_address(token_in(smtp.mails[1]))
    ada.refresh_from_db()
    assert ada.email == "second@example.org"


def test_a_new_address_makes_links_that_went_to_the_old_one_dead(ada):
    reset = mint(ada.pk, Credential.Purpose.RESET)
    confirm_address(mint(ada.pk, Credential.Purpose.ADDRESS, address="new@example.org"))
    with pytest.raises(LinkSpent):
        look_at_link(reset)


@pytest.mark.parametrize(
    "address", ["nobody@[", "\u00fcser@example.org", "a@b\r\nBcc: c@example.org"]
)
def test_an_address_that_no_mail_reaches_is_refused(ada, address):
    with pytest.raises(AddressUnsendable):
        request_address_change(ada, address)
    assert not AddressChange.objects.exists()


def test_nobody_is_flooded_by_wishes_for_their_address(ada):
    for _ in range(conf().accounts_asks_per_address):
        request_address_change(ada, "victim@example.org")
    with pytest.raises(TooMany):
        request_address_change(ada, "Victim@example.org")


def test_a_refused_confirmation_leads_to_a_new_one(ada):
    answer = Client().post(reverse("accounts-address-confirmed"), {"token": "x"}).content.decode()
    assert f'href="{reverse(CHANGE)}"' in answer
    assert "ada" not in answer


def test_wishes_and_former_addresses_are_gone_after_a_day(ada):
    request_address_change(ada, "new@example.org")
    confirm_address(mint(ada.pk, Credential.Purpose.ADDRESS, address="newer@example.org"))
    request_address_change(ada, "newest@example.org")
    with move_clock(timedelta(hours=24)):
        purge()
    assert not AddressChange.objects.exists()
    assert not FormerAddress.objects.exists()
    with move_clock(timedelta(hours=25)):
        purge()
    assert not Credential.objects.exists()


def test_an_address_that_an_officer_changes_is_told_at_both_addresses(ada, client, smtp):
    client.force_login(person("root", is_staff=True, is_superuser=True))
    page = reverse("admin:auth_user_change", args=[ada.pk])
    joined = {"date_joined_0": "2026-01-01", "date_joined_1": "10:00:00"}
    said = {"username": "ada", "is_active": "on", **joined}
    for email, mails in [("ada@example.org", 0), ("new@example.org", 2)]:
        answer = client.post(page, {**said, "email": email})
        assert answer.status_code == 302, answer.context["errors"]
        run_all()
        assert len(smtp.mails) == mails
    assert sorted(smtp.recipients) == ["ada@example.org", "new@example.org"]


def test_wishes_for_an_address_leave_the_forgotten_password_of_its_owner_alone(ada, smtp):
    person("owner")
    for _ in range(conf().accounts_asks_per_address):
        request_address_change(ada, "owner@example.org")
    forgot_password("owner@example.org", "")
    run_due_jobs(kinds=["accounts.password_reset_request", "accounts.password_reset"])
    assert smtp.recipients == ["owner@example.org"]


def test_who_wished_too_often_uses_up_nobodys_address(ada, settings):
    settings.ACCOUNTS_TRIES_PER_PERSON = 1
    request_address_change(ada, "new@example.org")
    for _ in range(conf().accounts_asks_per_address):
        with pytest.raises(TooMany):
            request_address_change(ada, "owner@example.org")
    request_address_change(person("owner", email="old@example.org"), "owner@example.org")


def test_a_new_password_ends_the_wish_of_whoever_knew_the_old_one(ada, smtp):
    request_address_change(ada, "thief@example.org")
    set_password(mint(ada.pk, Credential.Purpose.RESET), NEW)
    run_all()
    assert smtp.recipients == [ada.email]
    assert not AddressChange.objects.exists()


def test_a_wish_that_is_renewed_before_its_link_is_minted_is_the_one_that_gets_it(
    ada, smtp, monkeypatch
):
    real = JobContext.hold

    def renewed(job):
        AddressChange.objects.update(address="second@example.org")
        real(job)

    request_address_change(ada, "first@example.org")
    monkeypatch.setattr(JobContext, "hold", renewed)
    run_all()
    assert smtp.recipients == ["second@example.org"]
