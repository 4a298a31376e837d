"""One click switches off one kind of mail of one person, as RFC 8058 says, and opens nothing else."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from email import message_from_bytes, policy
from threading import Barrier
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.core import signing
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils.translation import gettext_lazy

from hubqueue.testing import run_due_jobs
from notifications import categories
from notifications.categories import Category, Subject, register
from notifications.models import Notification, Preference, Reader
from notifications.rendering import render
from notifications.services import notify
from notifications.unsubscribe import Switch, read, sign, unsubscribe_headers, unsubscribe_url

pytestmark = pytest.mark.django_db
ONE_CLICK = {"List-Unsubscribe": "One-Click"}
FORM = "application/x-www-form-urlencoded"


@pytest.fixture(autouse=True)
def kinds(settings, monkeypatch):
    settings.NOTIFICATIONS_BASE_URL = "https://jobs.example.org"
    monkeypatch.setattr(categories, "_categories", dict(categories._categories))
    for name, suppressible in (("test.news", True), ("test.security", False)):
        register(
            Category(
                name,
                gettext_lazy("Nothing was changed."),  # any text that has a translation
                suppressible=suppressible,
                describe=lambda record: Subject(),
            )
        )


@pytest.fixture
def ada():
    return get_user_model().objects.create(username="ada", email="ada@example.org")


@pytest.fixture
def bob():
    return get_user_model().objects.create(username="bob", email="bob@example.org")


@pytest.fixture
def provider():
    """As a mail provider posts: no cookie, and the checks a browser's request meets."""
    return Client(enforce_csrf_checks=True)


def message(person, name="test.news"):
    (made,) = notify(name, [person], cause=str(uuid4()))
    return Notification.objects.get(pk=made)


def path_for(person, name="test.news"):
    return reverse("notifications:unsubscribe", args=[sign(Switch(person.pk, name, "mail"))])


def test_the_headers_name_an_https_address_and_promise_one_click(ada):
    headers = unsubscribe_headers(message(ada))
    assert headers == {
        "List-Unsubscribe": f"<{unsubscribe_url(message(ada))}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }
    assert headers["List-Unsubscribe"].startswith("<https://jobs.example.org/notifications/")
    assert headers["List-Unsubscribe"].isascii()


def test_a_kind_that_cannot_be_switched_off_has_no_header_and_no_link(ada):
    assert unsubscribe_headers(message(ada, "test.security")) == {}
    assert unsubscribe_url(message(ada, "test.security")) == ""


def test_one_click_is_not_promised_without_tls(ada, settings):
    settings.NOTIFICATIONS_BASE_URL = "http://localhost:8000"
    assert set(unsubscribe_headers(message(ada))) == {"List-Unsubscribe"}


@pytest.mark.parametrize("content_type", [FORM, "multipart/form-data"])
def test_what_a_mail_provider_posts_switches_off_once_and_for_this_person_only(
    ada, bob, provider, content_type
):
    path = urlsplit(unsubscribe_url(message(ada))).path
    body = (
        {"data": "List-Unsubscribe=One-Click", "content_type": FORM}
        if content_type == FORM
        else {"data": ONE_CLICK}
    )
    for _ in range(2):
        answer = provider.post(path, **body)
        assert answer.status_code == 200  # RFC 8058 forbids a redirect
    assert Preference.objects.values_list("person", "category", "channel").get() == (
        ada.pk,
        "test.news",
        "mail",
    )
    assert message(ada).reason == "switched_off"
    assert message(bob).state == "pending"
    assert "sessionid" not in answer.cookies


@pytest.mark.parametrize("method", ["get", "head"])
def test_opening_the_link_changes_nothing_and_shows_the_button(ada, provider, method):
    answer = getattr(provider, method)(path_for(ada))
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    assert not Preference.objects.exists()
    if method == "get":
        said = answer.content.decode()
        assert 'name="List-Unsubscribe" value="One-Click"' in said
        assert "ada" not in said


@pytest.mark.parametrize(
    "body",
    [
        "",
        "List-Unsubscribe=one-click",
        "List-Unsubscribe=One-Click&category=test.other",
        "List-Unsubscribe=One-Click&List-Unsubscribe=One-Click",
        "List-Unsubscribe=One-Click&" + "a=" * 5000,
        '{"List-Unsubscribe": "One-Click"}',
    ],
)
def test_any_other_body_changes_nothing(ada, provider, body):
    assert provider.post(path_for(ada), body, content_type=FORM).status_code == 400
    assert not Preference.objects.exists()


def forgeries(person):
    good = sign(Switch(person.pk, "test.news", "mail"))
    content, _, signature = good.rpartition(".")
    other = signing.Signer(sep=".", salt="another").sign_object([person.pk, "test.news", "mail"])
    yield from (
        content,
        good[:-1],
        good + "x",
        content + "." + "A" * len(signature),
        other,
        ".",
        "x",
    )
    yield signing.Signer(key="else", sep=".", salt="notifications.unsubscribe").sign_object(
        [person.pk, "test.news", "mail"]
    )
    yield sign(Switch(person.pk + 1000, "test.news", "mail"))  # of somebody who is gone
    yield sign(Switch(person.pk, "test.gone", "mail"))


def test_a_forged_a_broken_and_a_foreign_link_are_told_alike_and_change_nothing(ada, provider):
    said = set()
    for token in forgeries(ada):
        path = reverse("notifications:unsubscribe", args=[token])
        for answer in (provider.get(path), provider.post(path, ONE_CLICK)):
            assert answer.status_code == 404
            said.add(answer.content)
    assert len(said) == 1
    assert "This link does not work" in said.pop().decode()
    assert not Preference.objects.exists()


def test_a_link_of_a_kind_that_cannot_be_switched_off_any_more_is_refused_in_words(ada, provider):
    answer = provider.post(path_for(ada, "test.security"), ONE_CLICK)
    assert answer.status_code == 409
    assert "cannot be switched off" in answer.content.decode()
    assert not Preference.objects.exists()


def test_an_old_link_works_after_the_secret_key_was_replaced(ada, provider, settings):
    path = path_for(ada)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key"
    assert provider.post(path, ONE_CLICK).status_code == 200
    settings.SECRET_KEY_FALLBACKS = []
    assert provider.post(path, ONE_CLICK).status_code == 404


def test_the_link_logs_nobody_in_and_carries_no_address(ada, provider):
    token = sign(Switch(ada.pk, "test.news", "mail"))
    assert read(token) == Switch(ada.pk, "test.news", "mail")
    provider.post(path_for(ada), ONE_CLICK)
    assert provider.get(reverse("notifications:preferences")).status_code == 302


def test_the_page_speaks_the_language_the_person_is_written_to_in(ada, provider):
    Reader.objects.create(person=ada, language="de")
    said = provider.get(path_for(ada), headers={"accept-language": "en"}).content.decode()
    assert '<html lang="de">' in said
    assert "Diese E-Mails abbestellen?" in said
    assert "Es wurde nichts geändert." in said  # the label


@pytest.fixture
def mailbox(settings, tmp_path):
    settings.NOTIFICATIONS_MAIL_URL = tmp_path.as_uri()
    settings.NOTIFICATIONS_FROM = "hubqueue@example.org"
    return lambda: [
        message_from_bytes(each.read_bytes(), policy=policy.default)
        for each in sorted(tmp_path.glob("*.eml"))
    ]


def test_a_delivered_mail_carries_the_way_out_in_its_headers_and_at_its_foot(
    ada, mailbox, provider
):
    register(replace(categories.category("notifications.test"), suppressible=True))
    message(ada, "notifications.test")
    run_due_jobs(raise_failures=True)
    (mail,) = mailbox()
    url = mail["List-Unsubscribe"].strip("<>")
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    for kind in ("plain", "html"):
        assert url in mail.get_body((kind,)).get_content()
    later = message(ada, "notifications.test")
    assert provider.post(urlsplit(url).path, ONE_CLICK).status_code == 200
    run_due_jobs()
    later.refresh_from_db()
    assert (later.state, later.reason) == ("suppressed", "switched_off")
    assert len(mailbox()) == 1


def test_a_message_in_words_carries_the_link_where_there_is_one():
    kind = categories.category("notifications.test")
    url = "https://jobs.example.org/notifications/unsubscribe/abc/"
    made = render(kind, kind.sample(), language="en", unsubscribe_url=url)
    assert f"Switch off mails of this kind: {url}" in made.text
    assert f'href="{url}"' in made.html
    assert "Switch off" not in render(kind, kind.sample(), language="en").text


@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_the_same_moment_are_one(ada):
    path = path_for(ada)
    both = Barrier(2)

    def click():
        both.wait(10)
        try:
            return Client().post(path, ONE_CLICK).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert [each.result(20) for each in [pool.submit(click), pool.submit(click)]] == [200, 200]
    assert Preference.objects.count() == 1
