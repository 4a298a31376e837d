"""Settings of mail: what can be used, and sentences about what cannot, without the password."""

from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.test import override_settings

from notifications.mail_server import Directory, MailUrlUnusable, Server, read_url
from notifications.sender import read_sender

SECRET = "s3cr3t!word"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtp://mail.example", Server("mail.example", 25, "", "", "")),
        ("smtp://mail.example?tls=starttls", Server("mail.example", 587, "starttls", "", "")),
        ("smtps://u%40x:p%2F%3A@mail.example", Server("mail.example", 465, "smtps", "u@x", "p/:")),
        ("smtp://[::1]:2525/", Server("::1", 2525, "", "", "")),
    ],
)
def test_a_server_is_read_from_a_url(url, expected):
    assert read_url(url) == expected
    assert "p/:" not in repr(read_url(url))


def test_a_directory_is_read_from_a_url():
    assert read_url("file:///var/mail%20here") == Directory(Path("/var/mail here"))


@pytest.mark.parametrize(
    "url",
    [
        f"http://u:{SECRET}@mail.example",
        f"smtp://u:{SECRET}@mail.example:port",
        f"smtp://u:{SECRET}@",
        f"smtp://u:{SECRET}/x@mail.example",
        f"smtp://u:{SECRET}#x@mail.example",
        f"smtp://:{SECRET}@mail.example",
        f"smtp://u:{SECRET}%C3%9F@mail.example",
        f"smtp://u:{SECRET}%0A@mail.example",
        f"smtp://u:{SECRET}@mail.example?tls=no",
        f"smtp://u:{SECRET}@mail.example?{SECRET}=1",
        f"smtps://u:{SECRET}@mail.example?tls=starttls",
        "file://relative/directory",
        "file:///",
        f"u:{SECRET}",
    ],
)
def test_an_unusable_url_is_refused_in_one_sentence_without_its_password(url):
    with pytest.raises(MailUrlUnusable) as refused:
        read_url(url)
    with override_settings(NOTIFICATIONS_MAIL_URL=url):
        (said,) = [each for each in run_checks() if "MAIL_URL" in each.msg]
    assert said.id == "notifications.E001"
    assert SECRET not in said.msg + str(refused.value)


def test_the_sender_may_have_a_name_and_needs_an_address():
    assert read_sender("Our jobs <jobs@bücher.example>").address == "jobs@xn--bcher-kva.example"
    assert read_sender("jobs@example.org").domain == "example.org"
    for wrong in ("nobody", "a@example.org\nBcc: b@example.org", "Name <>"):
        with override_settings(NOTIFICATIONS_FROM=wrong):
            said = [each.id for each in run_checks() if "FROM" in each.msg]
            assert said == ["notifications.E001"]


def test_production_is_warned_of_no_server_and_of_a_bare_password():
    def ids(**given):
        with override_settings(**given):
            found = run_checks(include_deployment_checks=True)
        return {each.id for each in found if each.id.startswith("notifications.W")}

    assert ids(NOTIFICATIONS_MAIL_URL="") == {"notifications.W001"}
    assert ids(NOTIFICATIONS_MAIL_URL="smtp://u:p@mail.example") == {"notifications.W002"}
    assert ids(NOTIFICATIONS_MAIL_URL="smtp://u:p@mail.example?tls=starttls") == set()


@pytest.mark.parametrize("seconds", [60.5, float("inf"), float("nan")])
def test_a_timeout_that_outlasts_the_job_is_refused(seconds):
    with override_settings(NOTIFICATIONS_MAIL_TIMEOUT=seconds):
        (said,) = [each for each in run_checks() if "MAIL_TIMEOUT" in each.msg]
    assert said.id == "notifications.E001"
