"""What a message says: in the reader's language, with nothing from a name but its text."""

import gettext
import io
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from babel.messages.pofile import read_po
from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import override_settings
from django.utils import translation

from hubqueue.testing import run_due_jobs
from notifications.categories import Category, Subject, _categories
from notifications.checks import check_base_url, check_settings, template_problems
from notifications.models import Notification, Reader
from notifications.rendering import SUBJECT_LENGTH, absolute, language_of, render
from notifications.services import notify
from notifications.trial import TRIAL
from notifications.unsubscribe import unsubscribe_url
from tests.conftest import CHECKOUT
from tests.support.catalogue import catalogues, compiled, read
from tests.support.categories import shipped

LANGUAGES = [code for code, _ in settings.LANGUAGES]
OURS = [
    each for each in ("accounts", "backups", "leads", "notifications") if apps.is_installed(each)
]
PO = [po for app in OURS for po in catalogues(app)]
ROUGH = '<b>Ada</b> & "Bo"'


VARIANTS = [
    pytest.param(category, withheld, id=f"{category.name} {withheld}")
    for category in shipped()
    for withheld in ((False, True) if category.withholds else (False,))
]


@pytest.fixture
def made(tmp_path, settings):
    """A category whose templates are written by the test."""

    def make(*, withheld=False, **parts):
        folder = tmp_path / "notifications" / "test.made" / ("withheld" if withheld else "")
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in {"subject.txt": "s", "body.txt": "t", "body.html": "h", **parts}.items():
            (folder / name.replace("_", ".")).write_text(text)
        settings.TEMPLATES = [
            {**settings.TEMPLATES[0], "DIRS": [tmp_path, *settings.TEMPLATES[0]["DIRS"]]}
        ]
        return Category("test.made", "Made", suppressible=True, describe=lambda record: Subject())

    return make


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("category", "withheld"), VARIANTS)
def test_every_category_renders_in_every_language_with_its_sample(category, withheld, language):
    said = render(category, replace(category.sample(), withheld=withheld), language=language)
    assert said.subject
    assert said.text.strip()
    assert f'<html lang="{language}" dir="ltr">' in said.html
    assert absolute(category.sample().path) in said.text
    assert "&#x27;" not in said.text + said.subject
    with translation.override(language):
        assert str(category.label)


def test_a_message_is_written_in_the_language_asked_for_whatever_the_thread_speaks():
    with translation.override("en"):
        german = render(TRIAL, TRIAL.sample(), language="de")
        assert translation.get_language() == "en"
    assert german.subject == "E-Mails von hier kommen an"
    assert german.text.startswith("Guten Tag,\n\nDiese E-Mail wurde am ")
    with translation.override("de"):
        assert render(TRIAL, TRIAL.sample(), language="en").text.startswith("Hello,\n\nAn officer")


def test_moments_are_told_in_the_time_zone_of_the_installation(made):
    category = made(body_txt='{{ moment|date:"H:i" }}')
    noon = Subject({"moment": datetime(2026, 7, 1, 12, tzinfo=UTC)})
    with override_settings(TIME_ZONE="Europe/Vienna"):
        assert render(category, noon, language="en").text == "14:00\n"


def test_values_are_escaped_in_html_and_left_as_they_are_in_text(made):
    plain = "{{ name }}"
    category = made(subject_txt=plain, body_txt=plain, body_html=plain)
    said = render(category, Subject({"name": ROUGH}), language="en")
    assert said.subject == ROUGH
    assert said.text == ROUGH + "\n"
    assert said.html == "&lt;b&gt;Ada&lt;/b&gt; &amp; &quot;Bo&quot;\n"


@pytest.mark.parametrize("split", ["\r\n", "\n", "\r", "\x0b", "\x85", "\u2028", "\u2029", "\x00"])
def test_a_subject_is_one_line_whatever_it_is_made_of(made, split):
    category = made(subject_txt="{{ name }}\n")
    said = render(category, Subject({"name": f"Hi{split}Bcc: x@example.org"}), language="en")
    assert said.subject == "Hi Bcc: x@example.org"


def test_a_subject_is_cut_at_a_length_that_is_still_read(made):
    said = render(made(subject_txt="{{ n }}"), Subject({"n": "word " * 99}), language="en")
    assert len(said.subject) <= SUBJECT_LENGTH
    assert said.subject.endswith("word…") or said.subject.endswith("wo…")


def test_a_withheld_subject_gets_the_variant_without_its_title(made):
    made(body_txt="Secret {{ title }}")
    category = made(withheld=True, body_txt="Something changed")
    said = render(category, Subject({"title": "merger"}, withheld=True), language="en")
    assert said.text == "Something changed\n"


def test_links_lead_to_the_address_of_the_settings_and_to_no_other(settings):
    settings.NOTIFICATIONS_BASE_URL = "https://jobs.example/hub/"
    assert absolute("/a/?b=1") == "https://jobs.example/hub/a/?b=1"
    for bad in (".evil.example", "https://evil.example", ""):
        with pytest.raises(ValueError, match="starts with a slash"):
            absolute(bad)


def test_a_mail_that_can_be_switched_off_says_where_and_no_other_does(made):
    extends = '{% extends "notifications/base.TYPE" %}'
    parts = {f"body_{each}": extends.replace("TYPE", each) for each in ("txt", "html")}
    category = made(**parts)
    said = render(category, Subject(), language="en", unsubscribe_url=absolute("/out/"))
    for text in (said.text, said.html):
        assert absolute("/notifications/preferences/") in text
        assert absolute("/out/") in text
    fixed = render(replace(category, suppressible=False), Subject(), language="en")
    assert "preferences" not in fixed.text + fixed.html


@pytest.mark.django_db
def test_a_delivered_mail_says_in_its_text_where_its_kind_is_switched_off(made, smtp, monkeypatch):
    extends = '{% extends "notifications/base.TYPE" %}'
    parts = {f"body_{each}": extends.replace("TYPE", each) for each in ("txt", "html")}
    monkeypatch.setitem(_categories, "test.made", made(**parts))
    ada = get_user_model().objects.create(username="ada", email="ada@example.org")
    Reader.objects.create(person=ada, language="de")
    (sent,) = notify("test.made", [ada], cause="c1")
    run_due_jobs(raise_failures=True)
    way_out = unsubscribe_url(Notification.objects.get(pk=sent))
    for part in ("plain", "html"):
        text = smtp.mails[0].message.get_body((part,)).get_content()
        assert way_out in text
        assert "E-Mails dieser Art abbestellen" in text


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("chosen", "spoken"),
    [(None, "en"), ("", "en"), ("de", "de"), ("de-at", "de"), ("xx", "en"), ("../de", "en")],
)
def test_a_person_is_written_to_in_the_language_of_their_choice_if_it_is_spoken(chosen, spoken):
    person = get_user_model().objects.create(username="ada")
    if chosen is not None:
        Reader.objects.create(person=person, language=chosen)
    assert language_of(person) == spoken


@pytest.mark.parametrize(
    "url",
    [
        "", "jobs.example.org", "//jobs.example.org", "ftp://x.example", "https://", "https://a b",
        "https://x.example?q", "https://x.example#f", "https://u:p@x.example", "https://x:99999",
        "https://x.example\n",
    ],
)  # fmt: skip
def test_an_address_that_links_cannot_be_made_of_is_refused_at_the_start(settings, url):
    settings.NOTIFICATIONS_BASE_URL = url
    assert [each.id for each in check_settings()] == ["notifications.E001"]


def test_production_links_to_tls(settings):
    settings.NOTIFICATIONS_BASE_URL = "http://jobs.example"
    assert check_settings() == []
    assert [each.id for each in check_base_url()] == ["notifications.E003"]
    settings.NOTIFICATIONS_BASE_URL = "https://jobs.example"
    assert check_base_url() == []


def test_a_template_that_is_missing_or_broken_is_told_at_the_start(made):
    category = replace(made(body_txt="{% nonsense %}"), withholds=True)
    said = list(template_problems([category]))
    assert {each.id for each in said} == {"notifications.E002"}
    assert "body.txt, which cannot be read: " in said[0].msg
    assert [each.msg.split("/")[-1] for each in said[1:]] == [
        f"{part}, which no app has." for part in ("subject.txt", "body.txt", "body.html")
    ]


def test_the_checks_find_nothing_here():
    assert {"accounts.invitation", "leads.request_parked", "webhooks.switched_off"} <= {
        each.name for each in shipped()
    }
    assert check_settings() == []
    assert list(template_problems(shipped())) == []


ALONE = """
import django
from django.conf import settings
from django.core.management import call_command

settings.configure(
    SECRET_KEY="only-for-tests",
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "hubqueue", "notifications"],
    NOTIFICATIONS_BASE_URL="https://jobs.example",
    LANGUAGES=[("en", "English"), ("de", "Deutsch")],
    USE_TZ=True,
    HUBQUEUE={"QUEUES": ("default", "mail", "webhooks")},
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "nobody-connects"}},
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
)
django.setup()
from notifications.rendering import render
from notifications.trial import TRIAL

call_command("check")
print(render(TRIAL, TRIAL.sample(), language="de").subject)
"""


def test_a_project_without_the_admin_renders_its_mails():
    done = subprocess.run(
        [sys.executable, "-c", ALONE],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("E-Mails von hier kommen an\n")


@pytest.mark.parametrize("po", PO, ids=lambda po: str(po.relative_to(CHECKOUT)))
def test_every_message_is_translated_and_the_compiled_catalogue_is_of_the_same_text(po):
    catalogue = read(po)
    assert not catalogue.fuzzy
    assert [each.id for each in catalogue if each.id and each.fuzzy] == []
    assert [each.id for each in catalogue if not all(_texts(each.string))] == []
    assert list(catalogue.check()) == []
    assert {"python-format" in each.flags for each in catalogue if "%(" in str(each.id)} <= {True}
    committed = po.with_suffix(".mo").read_bytes()
    assert _messages(committed) == _messages(compiled(catalogue))


@pytest.mark.parametrize("po", PO, ids=lambda po: str(po.relative_to(CHECKOUT)))
@pytest.mark.skipif(shutil.which("xgettext") is None, reason="there is no gettext here")
def test_no_text_is_missing_in_a_catalogue_and_none_is_left_over(po, tmp_path):
    locale = po.parents[2]
    shutil.copytree(locale.parent, tmp_path / "app")
    wanted = ["makemessages", "--locale", po.parents[1].name, "--no-obsolete", "--verbosity", "0"]
    env = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    command = [sys.executable, "-m", "django", *wanted]
    subprocess.run(command, cwd=tmp_path / "app", env=env, check=True)
    with (tmp_path / "app" / po.relative_to(locale.parent)).open("rb") as file:
        found = read_po(file)
    assert {each.id for each in found} == {each.id for each in read(po)}


def _texts(string):
    return [string] if isinstance(string, str) else string


def _messages(data):

    return {k: v for k, v in gettext.GNUTranslations(io.BytesIO(data))._catalog.items() if k}
