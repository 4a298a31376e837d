"""From the link at the foot of a mail to a page of one's own, in a real browser, as wide as a phone."""

from collections.abc import Callable
from datetime import timedelta
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from hubqueue.testing import move_clock, run_due_jobs
from leads import officers, services
from notifications.models import Notification, Preference
from tests.leads.made import make_event

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]

Picture = Callable[[str], None]
LogIn = Callable[[str], Any]
Mailbox = Callable[[], list[Any]]
BOX = "input[name='mail-leads.request_parked']"
PHONE = {"width": 360, "height": 740}


@pytest.fixture
def mailbox(settings: Any, tmp_path: Path, live_server: Any) -> Mailbox:
    """Mails become files, and their links lead to this test's server; answers them, oldest first."""
    settings.NOTIFICATIONS_MAIL_URL = tmp_path.as_uri()
    settings.NOTIFICATIONS_FROM = "hubqueue@example.org"
    settings.NOTIFICATIONS_BASE_URL = live_server.url

    def read() -> list[Any]:
        files = sorted(tmp_path.glob("*.eml"))
        return [message_from_bytes(each.read_bytes(), policy=policy.default) for each in files]

    return read


def park(code: str) -> None:
    event = make_event(code=code, name="Night Trains 2026")
    services.arm_event(event)
    officers.park(event.pk, actor="bo", reason="The CRM moves.")


def work(*kinds: str) -> None:
    """Run what is due in two hours."""
    with move_clock(timedelta(hours=2)):
        assert not run_due_jobs(kinds=kinds).failures


def fits(page: Any) -> bool:
    """Nothing has to be scrolled sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def test_a_mails_link_switches_its_kind_off_and_the_persons_page_on_again(
    log_in: LogIn, picture: Picture, mailbox: Mailbox
) -> None:
    page = log_in("ada")
    User.objects.update(email="ada@example.org")
    park("FAIR")
    work("leads.tell_parked", "notifications.deliver")
    (mail,) = mailbox()
    park("FAIR-2")
    work("leads.tell_parked")  # recorded, not sent yet

    page.set_viewport_size(PHONE)
    page.goto("about:blank")
    page.set_content(mail.get_body(("html",)).get_content())
    picture("mail-parked-phone")
    page.click("text=Switch off mails of this kind")
    page.wait_for_selector("h1:has-text('No more of these mails?')")
    assert fits(page)
    picture("unsubscribe-phone")
    assert not Preference.objects.exists()
    page.click("main button")
    page.wait_for_selector("h1:has-text('Switched off')")
    picture("unsubscribe-done-phone")

    work("notifications.deliver")
    said = Notification.objects.order_by("id").values_list("state", "reason")
    assert list(said) == [("sent", ""), ("suppressed", "switched_off")]
    assert len(mailbox()) == 1

    page.click("text=Which mails you get")
    page.wait_for_selector(BOX)
    assert not page.is_checked(BOX)
    assert fits(page)
    picture("preferences-phone")
    page.select_option("#id_language", "de")
    page.click("label:has-text('standing still')")
    page.click("main button")
    page.wait_for_selector("h1:has-text('Welche E-Mails Sie erhalten')")
    assert page.locator(".people-said.success").count() == 2
    assert page.is_checked(BOX)
    assert fits(page)
    picture("preferences-saved-phone")
    park("FAIR-3")
    work("leads.tell_parked", "notifications.deliver")
    assert "Noch geparkt" in mailbox()[-1]["Subject"]


def test_the_page_is_reached_from_the_admin_and_a_broken_link_tells_nothing(
    log_in: LogIn, picture: Picture
) -> None:
    page = log_in("ada")
    page.click("text=Mails and language")
    page.wait_for_selector("#id_language")
    picture("preferences")
    page.emulate_media(color_scheme="dark")
    picture("preferences-dark")
    # A page of 404 is a complaint on the console; what it says is for the eye.
    page.route("**/unsubscribe/**", lambda route: route.fulfill(response=route.fetch(), status=200))
    page.goto("/notifications/unsubscribe/forged/")
    page.wait_for_selector("h1:has-text('This link does not work')")
    picture("unsubscribe-unknown")
