"""An officer and the mail in a real browser: a failed message is sent again, a template looked at and tried."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import override_settings

from hubqueue import officers
from hubqueue.ids import uuid7
from hubqueue.querysets import database_now
from hubqueue.testing import run_due_jobs
from notifications.mail.kept import kept
from notifications.models import Notification
from notifications.trial import TRIAL
from tests.support.mail import MailServer, mail_server

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]

Picture = Callable[[str], None]
LogIn = Callable[[str], Any]
State = Notification.State


@pytest.fixture
def smtp() -> Iterator[MailServer]:
    """A real mail server, named in the settings."""
    with mail_server() as server, override_settings(NOTIFICATIONS_MAIL_URL=server.url):
        yield server
        kept.close_all()


def message(state: State, reason: str = "", **more: Any) -> Notification:
    """One message to Bo, as it stands some minutes after it was recorded."""
    now = database_now("default")
    bo, _ = get_user_model().objects.get_or_create(
        username="bo", defaults={"email": "bo@example.org"}
    )
    return Notification.objects.create(
        recipient=bo,
        category=TRIAL.name,
        state=state,
        reason=reason,
        cause_id=str(uuid7()),
        attempts=1,
        created_at=now - timedelta(minutes=7),
        finished_at=now if state in Notification.FINISHED else None,
        **more,
    )


def test_a_failed_mail_is_sent_again_with_a_reason_and_a_template_is_tried(
    log_in: LogIn, picture: Picture, smtp: MailServer
) -> None:
    for state, reason in (
        (State.PENDING, ""),
        (State.SENT, ""),
        (State.SUPPRESSED, "switched_off"),
        (State.SUPPRESSED, "own_doing"),
    ):
        message(state, reason)
    for state in (State.UNCERTAIN, State.SENT):
        message(state, uncertain_since=database_now("default"))
    message(State.FAILED, "address_refused")
    page = log_in("ada")
    ada = get_user_model().objects.get(username="ada")
    picture("mail-index")
    page.click("text=failed in 24 h")
    picture("mail-list")
    page.click("#result_list tbody tr:first-child th a")
    assert "The mail server refused the address for good." in page.inner_text(".hq-why")
    picture("mail-failed")

    page.click("text=Send again")
    picture("mail-resend-why")
    page.fill("#id_reason", "the mailbox is back")
    page.click("input[value='Send again']")
    page.wait_for_selector(".messagelist .success")
    page.wait_for_selector(".hq-head .hq-due")
    picture("mail-resent")
    assert not run_due_jobs(raise_failures=True).failures
    page.reload()
    page.wait_for_selector(".hq-head .hq-succeeded")
    assert smtp.recipients == ["bo@example.org"]
    page.click("text=What officers did")
    assert "Send again: the mailbox is back" in page.inner_text("#change-history")

    page.goto("/admin/notifications/notification/")
    picture("mail-list-all")
    page.click("text=Preview the mails")
    picture("mail-previews")
    page.click(f"a[hreflang=de][href*='{TRIAL.name}']")
    frame = page.frame_locator("iframe")
    assert "Das tun sie" in frame.locator("body").inner_text()
    assert "Das tun sie" in page.inner_text(".nt-text")
    assert frame.locator("hr").evaluate("each => getComputedStyle(each).borderTopWidth") == "1px"
    picture("mail-preview")

    page.click("text=Send me a test")
    page.wait_for_selector(".messagelist .error")
    picture("mail-test-refused")
    ada.email = "ada@example.org"
    ada.save()
    page.click("text=Send me a test")
    page.wait_for_selector(".hq-why .hq-due")
    picture("mail-test-waits")
    run_due_jobs(raise_failures=True)
    page.wait_for_selector(".hq-why .hq-succeeded")
    assert "The mail server took it for ada@example.org" in page.inner_text(".hq-why")
    assert smtp.recipients == ["bo@example.org", "ada@example.org"]
    picture("mail-test-sent")

    officers.pause("queue", "mail", actor="bo", reason="The provider moves.")
    page.goto("/admin/notifications/notification/")
    assert "paused by bo: The provider moves." in page.inner_text(".errornote")
    picture("mail-list-paused")
