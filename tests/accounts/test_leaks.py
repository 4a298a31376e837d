"""After a whole reset flow, with failures in it, the token is nowhere but in the mail and in its owner's browser."""

import base64
import logging
import sys
from datetime import timedelta

import pytest
from django.contrib import admin
from django.core.signals import got_request_exception
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.views.debug import ExceptionReporter
from prometheus_client import REGISTRY, generate_latest

from accounts.services import forgot_password, invite
from hubqueue.models import Failure, Job
from hubqueue.testing import move_clock, run_due_jobs
from tests.accounts.conftest import NEW, PASSWORD, mails_to, person, run_all, token_in
from tests.accounts.scan import tables_with
from tests.support.mail import DROP

pytestmark = pytest.mark.django_db


def shapes(token):
    """The token as it stands in a URL, and as somebody may have encoded it on the way."""
    raw = token.encode()
    inner = (base64.b64encode(b"x" * lead + raw).decode()[4:-4] for lead in range(3))
    return [token, raw.hex(), *inner]


@pytest.fixture
def everything_said(caplog):
    """All log lines at the lowest level, statements with their values among them; but the mail server's."""
    caplog.set_level(logging.DEBUG)
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if isinstance(logger, logging.Logger) and not name.startswith("mail."):
            caplog.set_level(logging.DEBUG, logger=name)
    before, connection.force_debug_cursor = connection.force_debug_cursor, True
    yield lambda: "\n".join(
        logging.Formatter().format(each) + repr(each.args)
        for each in caplog.records
        if not each.name.startswith("mail.")
    )
    connection.force_debug_cursor = before


def activity():
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(query, ' ') FROM pg_stat_activity")
        return cursor.fetchone()[0]


def test_no_table_log_metric_page_traceback_or_dead_letter_holds_the_token(
    ada, smtp, everything_said, monkeypatch
):
    seen = [activity()]
    # It is minted three times: the answer to the first mail is lost, the second attempt breaks, the third goes through.
    smtp.answers["END"] = [DROP]
    forgot_password("ada@example.org", "192.0.2.7")
    run_due_jobs()
    seen.append(activity())
    tokens = [token_in(smtp.mails[0])]

    def broken(message, **_):
        tokens.append(message.get_body(("plain",)).get_content().split("#")[1].split()[0])
        raise RuntimeError(str(message))

    with monkeypatch.context() as patch, move_clock(timedelta(minutes=2)):
        patch.setattr("notifications.mail.send", broken)
        run_due_jobs()
        seen.append(activity())
    with move_clock(timedelta(minutes=10)):
        run_all()
        tokens.append(token_in(smtp.mails[1]))
        seen.append(activity())

        # The page: looked at, refused, broken in the middle, used, used again.
        client = Client(raise_request_exception=False)
        landing = client.get(reverse("accounts-reset"))
        post(client, tokens[2])
        post(client, tokens[2], "password")
        with monkeypatch.context() as patch:
            patch.setattr("django.contrib.auth.base_user.make_password", explode)
            seen += reports(lambda: post(client, tokens[2], NEW))
        for digesting in ("salted_hmac", "constant_time_compare"):
            with monkeypatch.context() as patch:
                patch.setattr(f"accounts.hashes.{digesting}", explode)
                seen += reports(lambda: post(client, tokens[2], NEW))
        assert "Your password is set" in post(client, tokens[2], NEW)
        seen.append(post(client, tokens[2], NEW))
        run_all()
    # An invitation that is given up for good, so that its dead letter and record stand there.
    smtp.answers["END"] = DROP
    invite("bo@example.org")
    run_due_jobs()
    tokens.append(token_in(mails_to(smtp, "bo@example.org")[0]))
    for days in range(1, 30):
        with move_clock(timedelta(days=days)):
            run_due_jobs()
    tokens += [token_in(each) for each in mails_to(smtp, "bo@example.org")[1:]]
    assert Job.objects.filter(state="DEAD").count() == 1
    assert Failure.objects.filter(code="exception").count() == 1

    assert len(set(tokens)) == len(tokens) > 5
    seen += [landing.content.decode(), activity(), everything_said()]
    seen += [generate_latest(REGISTRY).decode(), *admin_pages()]
    for token in tokens:
        for shape in shapes(token):
            assert tables_with(shape) == set()
            assert [text for text in seen if shape in text] == []
    assert "auth_user" in everything_said()
    assert len(seen) > 20


def post(client, token, password=None):
    said = {} if password is None else {"new_password": password, "repeated": password}
    answer = client.post(reverse("accounts-new-password"), {"token": token, **said})
    return answer.content.decode()


def explode(*_args, **_kwargs):
    raise RuntimeError("out of order")


def reports(call):
    """What Django would mail to the operators about the error of a request, as text and as HTML."""
    found = []

    def keep(sender, request, **_):
        reporter = ExceptionReporter(request, *sys.exc_info(), is_email=True)
        found.extend([reporter.get_traceback_text(), reporter.get_traceback_html()])

    got_request_exception.connect(keep)
    try:
        call()
    finally:
        got_request_exception.disconnect(keep)
    assert len(found) == 2
    assert "out of order" in found[0]
    return found


def admin_pages():
    person("root", is_staff=True, is_superuser=True)
    client = Client()
    client.login(username="root", password=PASSWORD)
    for model in admin.site._registry:
        yield page(
            client, reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        )
    for job in Job.objects.all():
        yield page(client, reverse("admin:hubqueue_job_change", args=[job.pk]))


def page(client, address):
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()
