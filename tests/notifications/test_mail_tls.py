"""Encryption and login: a server that cannot prove who it is gets neither the password nor a message."""

from contextlib import contextmanager

import pytest
from django.test import override_settings

from notifications import mail
from notifications.mail.connection import trust
from notifications.mail.kept import kept
from tests.notifications.test_mail import compose
from tests.support.certificates import certify
from tests.support.mail import DROP, mail_server, trusting

LOGIN = ("mailer@example.org", "p:/@?%")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return certify(tmp_path_factory.mktemp("certificate"))


@contextmanager
def talking_to(server, url=None):
    trust.cache_clear()
    with override_settings(NOTIFICATIONS_MAIL_URL=url or server.url):
        yield
    kept.close_all()
    trust.cache_clear()


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_mail_goes_encrypted_and_logged_in_over_one_connection(certificate, scheme):
    with mail_server(login=LOGIN, certificate=certificate, scheme=scheme) as server:
        with trusting(certificate), talking_to(server):
            for _ in range(3):
                mail.send(compose())
    assert len(server.mails) == 3
    assert server.seen["AUTH"] == 1


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_a_certificate_that_nobody_vouches_for_ends_it_before_the_login(certificate, scheme):
    with mail_server(login=LOGIN, certificate=certificate, scheme=scheme) as server:
        with talking_to(server), pytest.raises(mail.SenderRefused) as refused:
            mail.send(compose())
    assert refused.value.code == "mail.tls_refused"
    assert server.seen["AUTH"] == 0


def test_a_certificate_of_another_name_ends_it_before_the_login(tmp_path):
    other = certify(tmp_path, "other.example")
    with mail_server(login=LOGIN, certificate=other, scheme="smtps") as server:
        with trusting(other), talking_to(server), pytest.raises(mail.SenderRefused) as refused:
            mail.send(compose())
    assert refused.value.code == "mail.tls_refused"
    assert server.seen["AUTH"] == 0


def test_a_server_that_hides_starttls_gets_no_password():
    with mail_server(login=LOGIN) as server:
        with talking_to(server, server.url + "?tls=starttls"):
            with pytest.raises(mail.SenderRefused) as refused:
                mail.send(compose())
    assert refused.value.code == "mail.tls_refused"
    assert server.seen["AUTH"] == 0


def test_a_server_that_knows_no_login_or_not_now(certificate):
    with mail_server(login=LOGIN) as server, talking_to(server):
        server.answers["AUTH"] = ["454 4.7.0 not now"] * 2 + [DROP]
        for _ in range(2):
            with pytest.raises(mail.TryLater):
                mail.send(compose())
        mail.send(compose())
    with mail_server(certificate=certificate) as server:
        url = f"smtp://u:p@localhost:{server.port}"
        with talking_to(server, url), pytest.raises(mail.SenderRefused) as refused:
            mail.send(compose())
    assert refused.value.code == "mail.login_refused"
    assert "u:p" not in repr(refused.value)
