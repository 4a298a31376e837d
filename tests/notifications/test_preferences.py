"""A person chooses which mails they get and in which language: theirs alone, and only what they changed."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from notifications import categories
from notifications.categories import Category, Subject, register
from notifications.errors import CategoryUnknown, PreferenceRefused
from notifications.models import Preference, Reader
from notifications.preferences import choose_language, switch_off, switch_on
from notifications.rendering import language_of
from notifications.services import notify

pytestmark = pytest.mark.django_db
PATH = "/notifications/preferences/"


@pytest.fixture(autouse=True)
def kinds(monkeypatch):
    monkeypatch.setattr(categories, "_categories", {})
    for name, label, suppressible in (
        ("test.news", "News <of> the house", True),
        ("test.rain", "Rain & snow", True),
        ("test.security", "Your account", False),
    ):
        register(
            Category(name, label, suppressible=suppressible, describe=lambda record: Subject())
        )


@pytest.fixture
def ada():
    return get_user_model().objects.create(username="ada", email="ada@example.org")


@pytest.fixture
def bob():
    return get_user_model().objects.create(username="bob", email="bob@example.org")


@pytest.fixture
def page(ada):
    client = Client()
    client.force_login(ada)
    return client


def off(person):
    return set(Preference.objects.filter(person=person).values_list("category", flat=True))


def shown(client):
    """What the form of the page would post as it stands."""
    said = client.get(PATH).content.decode()
    posted = dict(re.findall(r'<input type="hidden" name="(initial-[^"]+)" value="([^"]*)"', said))
    for box in re.findall(r'<input type="checkbox" name="[^>]+>', said):
        if " checked" in box:
            posted[re.search('name="([^"]+)"', box)[1]] = "on"
    chosen = re.search(r'<option value="([^"]*)" selected', said)
    return {**posted, "language": chosen[1] if chosen else ""}


def save(client, *without, **changes):
    posted = {**shown(client), **changes}
    answer = client.post(PATH, {k: v for k, v in posted.items() if k not in without}, follow=True)
    return answer.content.decode()


def test_every_kind_is_shown_with_its_switch_and_what_always_comes_as_such(page):
    said = page.get(PATH).content.decode()
    assert "News &lt;of&gt; the house" in said
    boxes = re.findall(r'<input type="checkbox"[^>]*>', said)
    assert [("disabled" in box, "checked" in box) for box in boxes] == [
        (False, True),
        (False, True),
        (True, True),
    ]
    for field in re.findall(r'<(?:input type="checkbox"|select)[^>]* id="([^"]+)"', said):
        assert f'<label for="{field}">' in said


def test_switching_off_and_on_again_says_what_changed_and_holds_for_the_next_message(page, ada):
    said = save(page, "mail-test.news")
    assert "News &lt;of&gt; the house: switched off." in said
    assert "Rain" not in "".join(re.findall(r'role="status">(.*?)</p>', said))
    assert off(ada) == {"test.news"}
    notify("test.news", [ada], cause="1")
    assert [each.reason for each in ada.notifications.all()] == ["switched_off"]
    said = save(page, **{"mail-test.news": "on"})
    assert "you get these mails" in said
    assert off(ada) == set()


def test_nothing_changed_is_said_and_writes_nothing(page):
    with CaptureQueriesContext(connection) as seen:
        said = save(page)
    assert "Nothing was changed." in said
    wrote = [q["sql"] for q in seen if q["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]
    assert [each for each in wrote if "notifications_" in each] == []


def test_the_language_is_chosen_shown_and_given_back_to_the_installation(page, ada, settings):
    said = save(page, language="de")
    assert '<html lang="de">' in said
    assert "Sprache: Deutsch." in said
    assert language_of(get_user_model().objects.get(pk=ada.pk)) == "de"
    said = save(page, language="")
    assert "Language: As everywhere here (English)." in said
    settings.LANGUAGE_CODE = "de"
    assert language_of(get_user_model().objects.get(pk=ada.pk)) == "de"


def test_a_page_left_open_undoes_nothing_that_was_chosen_elsewhere_since(page, ada):
    old = shown(page)
    switch_off(ada, "test.news")
    choose_language(ada, "de")
    old.pop("mail-test.rain")
    page.post(PATH, old)
    assert off(ada) == {"test.news", "test.rain"}
    assert Reader.objects.get(person=ada).language == "de"


def test_a_person_changes_their_own_rows_whatever_they_post(page, ada, bob):
    switch_off(bob, "test.news")
    save(page, "mail-test.rain", person=str(bob.pk), user=str(bob.pk))
    assert (off(ada), off(bob)) == ({"test.rain"}, {"test.news"})


def test_what_cannot_be_switched_off_is_not_whatever_is_posted(page, ada):
    said = {**shown(page), "initial-mail-test.security": "True", "initial-mail-test.gone": "True"}
    page.post(PATH, said)
    assert off(ada) == set()


def test_a_language_that_is_not_spoken_here_is_refused_and_changes_nothing(page, ada):
    posted = {**shown(page), "language": "tlh"}
    posted.pop("mail-test.news")
    answer = page.post(PATH, posted)
    assert answer.status_code == 400
    assert "Nothing was changed." in answer.content.decode()
    assert off(ada) == set()
    assert not Reader.objects.exists()


def test_a_stranger_logs_in_and_comes_back_and_a_post_from_elsewhere_is_refused(ada):
    answer = Client().get(PATH)
    assert answer.status_code == 302
    assert "login" in answer.headers["Location"]
    get_user_model().objects.update(password=make_password("a pass phrase for tests"))
    form = Client().get(answer.headers["Location"])
    said = {"username": "ada", "password": "a pass phrase for tests"}
    assert f'name="next" value="{PATH}"' in form.content.decode()
    back = Client().post(answer.headers["Location"].partition("?")[0], {**said, "next": PATH})
    assert back.headers["Location"] == PATH
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    assert strict.post(PATH, {"language": "de"}).status_code == 403


def test_the_header_of_the_admin_leads_to_the_page():
    root = get_user_model().objects.create_superuser("root")
    client = Client()
    client.force_login(root)
    assert (
        f'href="{reverse("notifications:preferences")}"' in client.get("/admin/").content.decode()
    )


def test_the_services_answer_whether_anything_changed(ada):
    assert switch_off(ada, "test.news") is True
    assert switch_off(ada.pk, "test.news") is False
    assert switch_on(ada, "test.news") is True
    assert switch_on(ada, "test.news") is False
    assert choose_language(ada, "de") is True
    assert choose_language(ada, "de") is False
    assert choose_language(ada, "") is True
    assert choose_language(ada, "") is False


@pytest.mark.parametrize("switch", [switch_off, switch_on])
def test_the_services_refuse_in_words(ada, switch):
    with pytest.raises(CategoryUnknown, match="register it"):
        switch(ada, "test.gone")
    with pytest.raises(PreferenceRefused, match="cannot be switched off"):
        switch(ada, "test.security")
    with pytest.raises(PreferenceRefused, match="no such account"):
        switch(ada.pk + 1000, "test.news")
    with pytest.raises(PreferenceRefused, match="no language"):
        choose_language(ada, "tlh")
    with pytest.raises(ValueError, match="pigeon"):
        switch(ada, "test.news", "pigeon")
