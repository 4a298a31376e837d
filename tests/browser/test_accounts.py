"""Ways into an account in a real browser, with mails from a real mail server."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import translation

from accounts.models import Invitation
from hubqueue.testing import run_due_jobs
from notifications.mail.kept import kept
from tests.browser.conftest import PASSWORD
from tests.support.mail import Mail, MailServer, mail_server
from tests.support.wait import until
from tests.support.workers import WorkerTree

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]
NEW = "quite another pass phrase"
PHONE = {"width": 390, "height": 800}


@pytest.fixture
def smtp(settings: Any, live_server: Any) -> Any:
    """A mail server; links in its mails lead to the live server."""
    with mail_server() as server:
        settings.NOTIFICATIONS_MAIL_URL, settings.NOTIFICATIONS_BASE_URL = (
            server.url,
            live_server.url,
        )
        yield server
        kept.close_all()


@pytest.fixture
def worker(
    process_env: dict[str, str], smtp: MailServer, live_server: Any, tmp_path: Path
) -> Iterator[WorkerTree]:
    """A real worker that mails through that server."""
    env = {**process_env, "MAIL_URL": smtp.url, "BASE_URL": live_server.url}
    tree = WorkerTree(["--queues=default,mail"], env=env, log=tmp_path / "worker.log")
    yield tree
    tree.kill_tree()


def link_in(server: MailServer, address: str) -> str:
    """The link of the newest mail to an address, once everything that is due was done."""
    run_due_jobs(raise_failures=True)
    return link_of(next(each for each in reversed(server.mails) if each.recipient == address))


def link_of(mail: Mail) -> str:
    body = mail.message.get_body(("plain",))
    assert body is not None
    return re.findall(r"http://\S+", body.get_content())[0]


def submit(page: Any) -> None:
    with page.expect_navigation():
        page.click("main button[type=submit]")


def choose(page: Any, password: str) -> None:
    page.fill("#id_new_password", password)
    page.fill("#id_repeated", password)
    submit(page)


def log_in(page: Any, name: str, password: str) -> None:
    page.goto("/accounts/login/")
    page.fill("#id_username", name)
    page.fill("#id_password", password)
    submit(page)


def test_a_forgotten_password_is_set_anew_by_the_link_of_a_mail(
    page: Any, smtp: MailServer, picture: Any, worker: WorkerTree
) -> None:
    User.objects.create_user("ada", "ada@example.org", PASSWORD, is_staff=True)
    page.set_viewport_size(PHONE)
    page.goto("/admin/")
    page.click(".password-reset-link a")
    page.fill("#id_address", "nobody")
    submit(page)
    assert page.get_attribute("#id_address", "aria-describedby") == "id_address_error"
    picture("accounts-forgotten")
    page.fill("#id_address", "Ada@example.org")
    submit(page)
    assert "If there is an account" in page.inner_text("main")
    picture("accounts-forgotten-sent")

    until(lambda: smtp.mails, message="a worker mails the link")
    link = link_of(smtp.mails[0])
    asked: list[Any] = []
    page.on("request", lambda request: asked.append(request))
    page.goto(link)
    page.wait_for_selector("#id_new_password")
    token = link.split("#")[1]
    assert token not in page.url
    page.go_back()
    assert page.url.endswith("/accounts/forgotten/sent/"), "no step of the history holds the token"
    page.goto(link)
    page.wait_for_selector("#id_new_password")
    choose(page, "password")
    assert "too common" in page.inner_text("#id_new_password_error")
    picture("accounts-new-password-refused")
    choose(page, NEW)
    assert "Your password is set" in page.inner_text("main")
    picture("accounts-password-set")
    assert not [each for each in asked if token in each.url]
    assert {each.headers.get("referer") for each in asked if each.method == "POST"} == {None}

    page.goto(link)
    page.wait_for_selector("main .error")
    assert "used already" in page.inner_text("main")
    picture("accounts-link-refused")
    log_in(page, "ada", NEW)
    assert "ada@example.org" in page.inner_text("main")
    picture("accounts-own")
    until(lambda: len(smtp.mails) == 2, message="a worker tells of the new password")
    assert "A way into your account" in smtp.mails[1].message["Subject"]
    page.goto(link_of(smtp.mails[1]))
    page.wait_for_selector("#id_address")


def test_an_officer_invites_and_the_person_chooses_a_password(
    page: Any, smtp: Any, picture: Any, log_in: Any
) -> None:
    log_in("root")
    page.goto("/admin/accounts/invitation/")
    page.click("text=Invite a person")
    page.fill("#id_first_name", "Bo")
    page.fill("#id_last_name", "Bergmann")
    page.fill("#id_address", "bo@example.org")
    page.select_option("#id_language", "de")
    picture("accounts-invite")
    page.click("input[value=Invite]")
    page.wait_for_selector(".messagelist .success")
    link = link_in(smtp, "bo@example.org")
    page.reload()
    picture("accounts-invitations")
    assert link.split("#")[1] not in page.content()

    page.context.clear_cookies()
    page.goto(link)
    page.wait_for_selector("#id_new_password")
    picture("accounts-welcome")
    choose(page, NEW)
    assert "Your password is set" in page.inner_text("main")
    assert Invitation.objects.get().accepted_at is not None


def test_a_new_address_is_asked_for_and_confirmed(page: Any, smtp: Any, picture: Any) -> None:
    User.objects.create_user("ada", "ada@example.org", PASSWORD)
    log_in(page, "ada", PASSWORD)
    page.click("text=Change address")
    page.fill("#id_new_address", "new@example.org")
    page.fill("#id_current_password", "a guess")
    submit(page)
    assert "This is not your password." in page.inner_text("#id_current_password_error")
    picture("accounts-address")
    page.fill("#id_current_password", PASSWORD)
    submit(page)
    assert "on its way" in page.inner_text("main")

    link = link_in(smtp, "new@example.org")
    page.goto(link)
    assert "#" not in page.url
    assert User.objects.get().email == "ada@example.org"
    picture("accounts-confirm")
    submit(page)
    assert "Address confirmed" in page.inner_text("main")
    assert User.objects.get().email == "new@example.org"


def test_without_scripts_the_token_is_typed_in(browser: Any, live_server: Any, smtp: Any) -> None:
    User.objects.create_user("ada", "ada@example.org", PASSWORD)
    context = browser.new_context(base_url=live_server.url, java_script_enabled=False, locale="de")
    page = context.new_page()
    page.goto("/accounts/forgotten/")
    page.fill("#id_address", "ada@example.org")
    submit(page)
    assert in_german("Look into your mailbox") in page.inner_text("main")
    link, token = link_in(smtp, "ada@example.org").split("#")
    page.goto(link)
    page.fill("#id_token", token)
    submit(page)
    choose(page, NEW)
    assert in_german("Your password is set") in page.inner_text("main")
    context.close()


def in_german(text: str) -> str:
    with translation.override("de"):
        found = translation.gettext(text)
    assert found != text
    return found
