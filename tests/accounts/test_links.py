"""Mailed links: single use, half an hour, the newest wins; what they open and what they say when they do not."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, connections
from django.test import Client
from django.urls import reverse

from accounts.credentials import mint
from accounts.errors import LinkExpired, LinkRefused, LinkSpent, LinkUnknown
from accounts.models import Credential, WayInChange
from accounts.services import confirm_address, look_at_link, set_password
from hubqueue.testing import move_clock, run_due_jobs
from notifications.models import Notification
from tests.accounts.conftest import NEW, PASSWORD, person
from tests.support.wait import until

pytestmark = pytest.mark.django_db
RESET, INVITATION, ADDRESS = Credential.Purpose
LINK_PAGES = ["accounts-reset", "accounts-welcome", "accounts-confirm-address"]


def post(token, **more):
    """As a browser does it that tells neither referrer nor origin, and without a cookie."""
    client = Client(enforce_csrf_checks=True, headers={"origin": "null"})
    return client.post(reverse("accounts-new-password"), {"token": token, **more})


def post_password(token, password=NEW):
    return post(token, new_password=password, repeated=password)


def test_a_link_sets_a_password_once(ada):
    token = mint(ada.pk, RESET)
    assert post(token).status_code == 200
    assert "Your password is set" in post_password(token).content.decode()
    ada.refresh_from_db()
    assert ada.check_password(NEW)
    with pytest.raises(LinkSpent):
        set_password(token, PASSWORD)


def test_a_new_password_ends_every_session_and_every_other_link(ada, client):
    client.force_login(ada)
    others = [mint(ada.pk, INVITATION), mint(ada.pk, ADDRESS, address="new@example.org")]
    assert client.get(reverse("accounts-own")).status_code == 200
    set_password(mint(ada.pk, RESET), NEW)
    assert client.get(reverse("accounts-own")).status_code == 302
    with pytest.raises(LinkSpent):
        set_password(others[0], PASSWORD)
    with pytest.raises(LinkSpent):
        confirm_address(others[1])
    assert not Credential.objects.filter(spent_at=None).exists()


def test_a_new_password_is_told(ada):
    set_password(mint(ada.pk, RESET), NEW)
    run_due_jobs(kinds=["accounts.way_in_changed"], raise_failures=True)
    told = Notification.objects.get()
    assert (told.category, told.recipient, told.state) == (
        "accounts.way_in_changed",
        ada,
        "pending",
    )
    assert WayInChange.objects.get().what == "password"


def test_a_password_set_in_another_way_is_told_too_and_ends_the_links(ada):
    token = mint(ada.pk, RESET)
    ada.set_password(NEW)
    ada.save()
    assert WayInChange.objects.get().what == "password"
    with pytest.raises(LinkSpent):
        look_at_link(token)
    ada.last_name = "Lovelace"
    ada.save()
    assert WayInChange.objects.count() == 1


def test_a_new_hash_of_the_same_password_is_not_told(ada, settings):
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
        *settings.PASSWORD_HASHERS,
    ]
    before = ada.password
    assert ada.check_password(PASSWORD)
    assert ada.password != before
    assert not WayInChange.objects.exists()


def test_the_newest_link_of_a_purpose_is_the_one_that_works(ada):
    first, second = mint(ada.pk, RESET), mint(ada.pk, RESET)
    with pytest.raises(LinkSpent):
        look_at_link(first)
    look_at_link(second)


def test_a_link_lives_for_half_an_hour(ada):
    token = mint(ada.pk, RESET)
    with move_clock(timedelta(minutes=29, seconds=59)):
        look_at_link(token)
    with move_clock(timedelta(minutes=30)):
        with pytest.raises(LinkExpired):
            look_at_link(token)
        assert "This link has expired." in post_password(token).content.decode()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda ada, token: set_password(token, NEW), "used already"),
        (lambda ada, token: mint(ada.pk, RESET), "used already"),
        (lambda ada, token: ada.delete(), "not one of ours"),
        (lambda ada, token: type(ada).objects.update(is_active=False), "used already"),
        (lambda ada, token: type(ada).objects.update(email="other@example.org"), "used already"),
        (lambda ada, token: type(ada).objects.update(password="!"), "used already"),
    ],
)
def test_a_link_that_does_not_work_says_so_and_not_whose_it_was(ada, spoil, sentence):
    token = mint(ada.pk, RESET)
    spoil(ada, token)
    for answer in (post(token), post_password(token)):
        said = answer.content.decode()
        assert sentence in said
        assert f'href="{reverse("admin_password_reset")}"' in said
        assert "ada" not in said
        assert token not in said


@pytest.mark.parametrize("token", ["", "x" * 43, "x" * 100_000, "\x00", "ü"])
def test_what_is_no_token_of_ours_is_refused_in_words(token):
    assert "not complete, or is not one of ours" in post(token).content.decode()
    with pytest.raises(LinkUnknown):
        look_at_link(token)


def test_a_link_of_one_purpose_opens_nothing_else(ada):
    with pytest.raises(LinkUnknown):
        set_password(mint(ada.pk, ADDRESS, address="new@example.org"), NEW)
    with pytest.raises(LinkUnknown):
        confirm_address(mint(ada.pk, RESET))


@pytest.mark.parametrize(
    ("password", "repeated", "sentence"),
    [
        ("password", "password", "too common"),
        ("ada@example.org", "ada@example.org", "too similar"),
        (NEW, PASSWORD, "The two passwords differ."),
        ("", "", "This field is required."),
        ("x" * 2000, "x" * 2000, "at most 1000 characters"),
    ],
)
def test_a_password_that_is_refused_leaves_the_link_open(ada, password, repeated, sentence):
    token = mint(ada.pk, RESET)
    said = post(token, new_password=password, repeated=repeated).content.decode()
    assert sentence in said
    assert 'aria-invalid="true"' in said
    assert f'value="{password or token[:-1]}"' not in said
    look_at_link(token)
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)


def test_the_service_holds_the_validators_as_well(ada):
    with pytest.raises(ValidationError):
        set_password(mint(ada.pk, RESET), "password")


@pytest.mark.parametrize("name", LINK_PAGES)
def test_pages_of_links_are_kept_in_no_cache_and_tell_no_address(client, name, ada):
    token = mint(ada.pk, RESET)
    for answer in (client.get(reverse(name)), post(token), post("x")):
        assert "no-store" in answer.headers["Cache-Control"]
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


def test_a_link_survives_a_new_secret_key_while_the_old_one_is_kept(ada, settings):
    token = mint(ada.pk, RESET)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", [settings.SECRET_KEY]
    look_at_link(token)
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(LinkUnknown):
        look_at_link(token)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["password", "address"])
def test_of_two_uses_of_a_link_at_once_exactly_one_works(way):
    ada = person("ada")
    purpose, use = (
        (RESET, lambda token: set_password(token, NEW))
        if way == "password"
        else (ADDRESS, confirm_address)
    )
    token = mint(ada.pk, purpose, address="new@example.org")
    outcomes = race(4, lambda: use(token), held=ada)
    assert sorted(outcomes) == ["LinkSpent"] * 3 + ["ok"]
    assert WayInChange.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_mints_at_once_the_later_one_works():
    ada = person("ada")
    tokens = []
    assert race(4, lambda: tokens.append(mint(ada.pk, RESET)), held=ada) == ["ok"] * 4
    outcomes = [opens(each) for each in tokens]
    assert outcomes.count(True) == 1
    newest = Credential.objects.order_by("-minted_at").first()
    assert newest.spent_at is None


def opens(token):
    try:
        look_at_link(token)
    except LinkRefused:
        return False
    return True


def race(count, call, *, held):
    """Call it so many times at once: all stand before the account's row when it is let go."""

    def one():
        try:
            call()
        except LinkRefused as refused:
            return type(refused).__name__
        finally:
            connections.close_all()
        return "ok"

    with ThreadPoolExecutor(count) as pool:
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT FROM auth_user WHERE id = %s FOR UPDATE", [held.pk])
            ends = [pool.submit(one) for _ in range(count)]
            until(lambda: waiting(cursor) == count, message="all wait for the row")
            cursor.execute("COMMIT")
        return [each.result(20) for each in ends]


def waiting(cursor):
    cursor.execute(
        "SELECT pg_stat_clear_snapshot(), count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    return cursor.fetchone()[1]
