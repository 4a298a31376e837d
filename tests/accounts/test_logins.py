"""Wrong passwords cost a wait, longer each time; the answer is the same whether there is an account or not."""

from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth import aauthenticate, authenticate
from django.core.exceptions import ImproperlyConfigured
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import Guess
from accounts.purge import purge
from accounts.waits import FIRST, LONGEST, LONGEST_OF_ALL, Wait, barred, waits_of
from hubqueue.testing import move_clock
from tests.accounts.conftest import PASSWORD, person
from tests.support.rival import Rival

pytestmark = pytest.mark.django_db
HOME, AWAY = "192.0.2.7", "198.51.100.1"
SECOND = timedelta(seconds=1)
PAGES = ["accounts-login", "admin:login"]


def log_in(name, password, *, client=HOME, page="accounts-login"):
    """What comes of it: in, wrong or wait."""
    answer = Client().post(
        reverse(page), {"username": name, "password": password}, REMOTE_ADDR=client
    )
    if answer.status_code == 302:
        return "in"
    return "wait" if "That was too often" in answer.content.decode() else "wrong"


def guess(times, name="ada", **given):
    return [log_in(name, f"guess {number}", **given) for number in range(times)]


@pytest.mark.parametrize("page", PAGES)
def test_after_five_wrong_passwords_the_right_one_waits_too_and_works_after_the_wait(page):
    person("ada", is_staff=True)
    assert guess(6, page=page) == ["wrong"] * 5 + ["wait"]
    assert log_in("ada", PASSWORD, page=page) == "wait"
    with move_clock(FIRST + SECOND):
        assert log_in("ada", PASSWORD, page=page) == "in"
        assert guess(5, page=page) == ["wrong"] * 5, "the right password began anew"


@pytest.mark.parametrize("page", PAGES)
def test_an_account_that_does_not_exist_is_answered_in_the_same_words(page):
    person("ada", is_staff=True)
    shown = {}
    for name in ("ada", "nobody"):
        client = Client()
        said = []
        for _ in range(7):
            given = {"username": name, "password": "guess"}
            text = client.post(reverse(page), given).content.decode()
            said.append(text.replace(name, "NAME").partition("csrfmiddlewaretoken")[0])
            said.append(str("That was too often" in text))
        shown[name] = said
    assert shown["ada"] == shown["nobody"]
    assert "True" in shown["ada"]


def test_each_further_wrong_password_doubles_the_wait_up_to_a_quarter_of_an_hour():
    person("ada")
    guess(5)
    ahead = timedelta(0)
    for wait in (FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST, 16 * FIRST, LONGEST, LONGEST):
        with move_clock(ahead + wait - SECOND):
            assert log_in("ada", "wrong") == "wait"
        ahead += wait + SECOND
        with move_clock(ahead):
            assert log_in("ada", "wrong") == "wrong"


def test_who_tries_while_they_wait_does_not_wait_longer():
    person("ada")
    assert guess(20)[5:] == ["wait"] * 15
    with move_clock(FIRST + SECOND):
        assert log_in("ada", PASSWORD) == "in"


def test_nobody_is_kept_out_by_what_another_client_guesses():
    person("ada")
    guess(20, client=AWAY)
    assert log_in("ada", PASSWORD) == "in"
    assert log_in("ada", PASSWORD, client=AWAY) == "wait"


def test_what_is_guessed_from_everywhere_waits_a_minute_at_most(settings):
    settings.ACCOUNTS_LOGINS_PER_ACCOUNT = 1
    person("ada")
    for number in range(25):
        guess(1, client=f"203.0.113.{number}")
    assert log_in("ada", PASSWORD) == "wait"
    with move_clock(LONGEST_OF_ALL + SECOND):
        assert log_in("ada", PASSWORD) == "in"


def test_a_client_that_tries_many_names_waits_whichever_it_tries_next(settings):
    settings.ACCOUNTS_LOGINS_PER_CLIENT = 4
    person("ada")
    assert [guess(1, f"name {number}")[0] for number in range(5)] == ["wrong"] * 4 + ["wait"]
    assert log_in("ada", PASSWORD) == "wait"
    assert log_in("ada", PASSWORD, client=AWAY) == "in"


def test_right_passwords_of_many_people_at_one_client_cost_nothing(settings):
    settings.ACCOUNTS_LOGINS_PER_CLIENT = 2
    for number in range(6):
        person(f"p{number}")
        assert log_in(f"p{number}", PASSWORD) == "in"
    assert guess(2) == ["wrong"] * 2


def test_a_header_that_no_trusted_proxy_sent_makes_no_other_client():
    person("ada")
    for number in range(6):
        given = {"username": "ada", "password": "guess"}
        answer = Client().post(
            reverse("accounts-login"), given, HTTP_X_FORWARDED_FOR=f"203.0.113.{number}"
        )
    assert "That was too often" in answer.content.decode()


@pytest.mark.parametrize("spelling", ["ADA", " ada ", "\uff41da"])
def test_another_spelling_is_no_other_account(spelling):
    person("ada")
    guess(5)
    assert log_in(spelling, "guess") == "wait"


@pytest.mark.django_db(transaction=True)
def test_guesses_at_one_time_count_like_those_one_after_the_other():
    wait = Wait("test", "k", free=1, longest=LONGEST)
    with Rival() as first, Rival() as second:
        first.begin()
        assert first.do(lambda: barred([wait])) == ""
        late = second.start(lambda: barred([wait]))
        second.until_blocked()
        first.commit()
        assert late.result(30) == "test"


def test_code_that_names_no_request_waits_for_nothing():
    ada = person("ada")
    for _ in range(10):
        assert authenticate(username="ada", password="wrong") is None
    assert authenticate(username="ada", password=PASSWORD) == ada
    assert not Guess.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_async_code_waits_like_any():
    person("ada")
    request = RequestFactory().post("/")
    for _ in range(6):
        assert async_to_sync(aauthenticate)(request, username="ada", password="wrong") is None
    assert async_to_sync(aauthenticate)(request, username="ada", password=PASSWORD) is None


def test_rows_name_nobody_and_are_gone_an_hour_after_the_wait():
    guess(6)
    assert {each.name for each in waits_of("ada", HOME)} == {
        "client",
        "account and client",
        "account",
    }
    assert Guess.objects.count() == 3
    for row in Guess.objects.all():
        assert len(row.key) == 64
    with move_clock(timedelta(minutes=59)):
        purge()
        assert Guess.objects.exists()
    with move_clock(timedelta(minutes=62)):
        purge()
        assert not Guess.objects.exists()


def test_what_was_wrong_long_ago_is_forgotten():
    person("ada")
    guess(5)
    with move_clock(timedelta(hours=2)):
        assert guess(5) == ["wrong"] * 5


def test_a_number_that_lets_nobody_in_is_refused(settings):
    settings.ACCOUNTS_LOGINS_PER_ACCOUNT = 0
    with pytest.raises(ImproperlyConfigured, match="ACCOUNTS_LOGINS_PER_ACCOUNT"):
        waits_of("ada", HOME)
