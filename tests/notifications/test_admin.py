"""The officers' pages: who may see and do what, what they say, and that no name in them is more than text."""

import re
from datetime import timedelta
from unittest import mock

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from hubqueue import officers as queue_officers
from hubqueue.ids import uuid7
from hubqueue.models import Job
from hubqueue.testing import run_due_jobs
from notifications.admin import reach
from notifications.categories import Category, Subject, _categories
from notifications.models import Notification
from notifications.reasons import SENTENCES, Reason
from notifications.services import notify
from notifications.trial import TRIAL
from tests.support.categories import shipped

pytestmark = pytest.mark.django_db
State = Notification.State
NASTY = "<script>alert(1)</script>"
LIST = "/admin/notifications/notification/"
PREVIEWS = LIST + "preview/"
ONE = f"{PREVIEWS}{TRIAL.name}/"


@pytest.fixture
def officer():
    """Logs in a member of staff with exactly these permissions."""

    def log_in(*permissions, email="officer@example.org", **client):
        user = get_user_model().objects.create_user(f"officer-{uuid7()}", email, is_staff=True)
        found = [
            Permission.objects.get(content_type__app_label=label, codename=name)
            for label, name in (each.split(".") for each in permissions)
        ]
        user.user_permissions.set(found)
        logged_in = Client(**client)
        logged_in.force_login(user)
        logged_in.user = user
        return logged_in

    return log_in


@pytest.fixture
def viewer(officer):
    return officer("notifications.view_notification")


@pytest.fixture
def bo():
    return get_user_model().objects.create(username="bo", email="bo@example.org")


@pytest.fixture
def message(bo):
    def make(state=State.SENT, reason="", **more):
        now = timezone.now()
        said = {"recipient": bo, "category": TRIAL.name, "cause_id": str(uuid7()), **more}
        return Notification.objects.create(
            state=state,
            reason=reason,
            created_at=now,
            finished_at=now if state in Notification.FINISHED else None,
            **said,
        )

    return make


def page_of(row):
    return reverse("admin:notifications_notification_change", args=[row.pk])


def resend_of(row):
    return reverse("admin:notifications_notification_resend", args=[row.pk])


def read(client, path, code=200, **query):
    answer = client.get(path, query)
    assert answer.status_code == code
    return answer.content.decode()


def why(text):
    """The sentences of a page about how something stands."""
    return re.search(r'class="module hq-why".*?</section>', text, re.S).group()


# Who may what


def test_without_the_permission_to_view_there_is_no_page_of_messages(officer, message):
    row = message(State.FAILED, "gave_up")
    other = officer("hubqueue.view_job")
    assert "Mail now" not in read(other, "/admin/")
    for path in (LIST, page_of(row), resend_of(row), page_of(row).replace("change", "history")):
        read(other, path, 403)


def test_sending_again_needs_its_permission_for_the_link_the_action_and_the_url(
    officer, viewer, message
):
    row = message(State.FAILED, "gave_up")
    assert "Send again" not in read(viewer, page_of(row))
    assert "Send again" not in read(viewer, LIST)
    read(viewer, resend_of(row), 403)
    said = {"reason": "please", "confirmed": "1"}
    assert viewer.post(resend_of(row), said).status_code == 403
    viewer.post(LIST, {**said, "action": "resend", "_selected_action": str(row.pk)})
    row.refresh_from_db()
    assert row.state == State.FAILED
    able = officer("notifications.view_notification", "notifications.resend_notification")
    assert resend_of(row) in read(able, page_of(row))


def test_sending_again_without_seeing_messages_is_refused(officer, message):
    row = message(State.FAILED, "gave_up")
    blind = officer("notifications.resend_notification")
    assert blind.post(resend_of(row), {"reason": "x", "confirmed": "1"}).status_code == 403


@pytest.mark.parametrize("path", [PREVIEWS, ONE, ONE + "html/"])
def test_previews_need_their_permission(officer, viewer, path):
    assert PREVIEWS not in read(viewer, LIST)
    read(viewer, path, 403)
    read(officer("notifications.preview_template"), path)


def test_a_test_mail_needs_the_permission_and_a_form_of_ours(officer, viewer):
    assert viewer.post(ONE + "test/", {"language": "en"}).status_code == 403
    forged = officer("notifications.preview_template", enforce_csrf_checks=True)
    assert forged.post(ONE + "test/", {"language": "en"}).status_code == 403
    assert forged.get(ONE + "test/").status_code == 405
    assert not Job.objects.exists()


def test_sending_again_needs_a_form_of_ours(officer, message):
    row = message(State.FAILED, "gave_up")
    able = officer(
        "notifications.view_notification",
        "notifications.resend_notification",
        enforce_csrf_checks=True,
    )
    assert able.post(resend_of(row), {"reason": "x", "confirmed": "1"}).status_code == 403


def test_an_address_is_shown_to_those_only_who_may_see_accounts(officer, viewer, message):
    row = message()
    assert "bo@example.org" not in read(viewer, page_of(row))
    assert "1 notification" not in read(viewer, LIST, q="bo@example.org")
    able = officer("notifications.view_notification", "auth.view_user")
    assert "bo@example.org" in read(able, page_of(row))
    assert "1 notification" in read(able, LIST, q="BO@example.org")


# What they say


def test_each_reason_is_told_in_its_sentence(viewer, message):
    for reason in Reason:
        row = message(State.SUPPRESSED, reason)
        assert SENTENCES[reason] in why(read(viewer, page_of(row)))
    old = message(State.FAILED, "a_code_of_yesterday")
    assert "a_code_of_yesterday" in why(read(viewer, page_of(old)))


def test_what_may_have_arrived_twice_says_so(viewer, message):
    sent = message(State.SENT, uncertain_since=timezone.now())
    assert "it may have arrived twice" in why(read(viewer, page_of(sent)))
    lost = message(State.UNCERTAIN, uncertain_since=timezone.now())
    said = why(read(viewer, page_of(lost)))
    assert "it may have arrived." in said
    assert "It is not sent again by itself" in said
    for state, reason in ((State.FAILED, "gave_up"), (State.SUPPRESSED, "switched_off")):
        ended = message(state, reason, uncertain_since=timezone.now())
        assert "it may have arrived all the same" in why(read(viewer, page_of(ended)))


def test_a_waiting_message_without_a_job_says_so_and_offers_to_send_it(officer, message):
    able = officer("notifications.view_notification", "notifications.resend_notification")
    said = read(able, page_of(row := message(State.PENDING)))
    assert "No job is there any more" in why(said)
    assert resend_of(row) in said


def test_a_waiting_message_tells_what_its_job_waits_for_and_links_to_it(officer, viewer, bo):
    (made,) = notify(TRIAL.name, [bo], cause="c1")
    job = Job.objects.get()
    queue_officers.pause("queue", "mail", actor="ada", reason="The provider moves.")
    row = Notification.objects.get(pk=made)
    said = read(viewer, page_of(row))
    assert "The queue mail is paused by ada" in why(said)
    assert str(job.pk) not in said
    able = officer("notifications.view_notification", "hubqueue.view_job")
    assert reverse("admin:hubqueue_job_change", args=[job.pk]) in read(able, page_of(row))


def test_a_message_of_an_application_that_is_gone_is_still_shown(viewer, message):
    row = message(category="gone.news", subject_type="gone.thing", subject_id="7")
    said = read(viewer, page_of(row))
    assert "gone.news" in said
    assert "gone.thing 7" in said


def test_names_and_subjects_are_text_and_nothing_more(officer, message):
    nasty = get_user_model().objects.create(username=NASTY, email="x@example.org")
    row = message(
        State.FAILED,
        NASTY[:40],
        recipient=nasty,
        actor=nasty,
        category=NASTY,
        cause_id=NASTY,
        subject_type=NASTY,
        subject_id=NASTY,
        tenant_id=NASTY,
    )
    boss = get_user_model().objects.create_superuser("boss")
    client = Client()
    client.force_login(boss)
    for path in (LIST, page_of(row), resend_of(row), LIST + "?q=" + NASTY):
        assert NASTY not in read(client, path)
    answer = client.post(resend_of(row), {"reason": NASTY, "confirmed": "1"}, follow=True)
    assert NASTY not in answer.content.decode()
    assert NASTY not in read(client, page_of(row).replace("change", "history"))


def test_the_first_page_and_the_list_tell_how_mail_stands(viewer, message):
    for _ in range(2):
        message(State.PENDING)
    message(State.FAILED, "gave_up")
    old = message(State.FAILED, "gave_up")
    long_ago = timezone.now() - timedelta(days=3)
    Notification.objects.filter(pk=old.pk).update(finished_at=long_ago)
    queue_officers.pause("kind", "notifications.deliver", actor="mail", reason="Refused: 535.")
    queue_officers.pause("kind", "notifications.test_mail", actor="mail", reason="Refused: 535.")
    for path in ("/admin/", LIST):
        said = read(viewer, path)
        tiles = re.findall(r"\?state=(\w+)\"><strong>(\S+)</strong><span>([^<]+)", said)
        assert tiles == [
            ("pending", "2", "waiting"),
            ("uncertain", "0", "uncertain"),
            ("failed", "2", "failed"),
            ("failed", "1", "failed in 24 h"),
        ]
        assert said.count("Refused: 535.") == 1


def test_a_refused_sender_is_told_in_words_and_until_when(officer, viewer, settings):
    settings.NOTIFICATIONS_MAIL_URL = ""
    able = officer("notifications.preview_template")
    able.post(ONE + "test/", {"language": "en"})
    run_due_jobs(kinds=["notifications.test_mail"])
    said = read(viewer, LIST)
    assert said.count("No mail server is set: the operator has to name one.") == 1
    assert re.search(r"Mail waits until \d{4}-\d\d-\d\d \d\d:\d\d UTC at the latest", said)


# The list


def test_the_list_is_narrowed_by_state_reason_category_and_person(viewer, message, bo):
    other = get_user_model().objects.create(username="cy", email="cy@example.org")
    sent = message()
    failed = message(State.FAILED, "gave_up", recipient=other)
    held = message(State.SUPPRESSED, "own_doing", category="gone.news", tenant_id="t1")

    def listed(**query):
        return set(re.findall(r"notification/([0-9a-f-]{36})/change/", read(viewer, LIST, **query)))

    def ids(*rows):
        return {str(each.pk) for each in rows}

    assert listed() == ids(sent, failed, held)
    assert listed(state="failed") == ids(failed)
    assert listed(state="sent") == ids(sent)
    assert listed(reason="own_doing") == ids(held)
    assert listed(category=TRIAL.name) == ids(sent, failed)
    assert listed(tenant="t1") == ids(held)
    assert listed(q="cy") == ids(failed)
    assert listed(q=str(held.pk)) == ids(held)
    assert listed(q="nobody") == set()
    assert listed(state="nonsense", reason="nonsense") == ids(sent, failed, held)


def test_no_lookup_by_hand_guesses_what_is_not_shown(viewer, message):
    message()
    answer = viewer.get(LIST, {"recipient__email__startswith": "bo"})
    assert answer.status_code in (302, 400)


def test_a_page_of_the_list_reads_no_more_than_it_shows_and_goes_on_from_there(
    viewer, bo, settings
):
    now = timezone.now()
    Notification.objects.bulk_create(
        Notification(
            id=uuid7(),
            recipient=bo,
            category=TRIAL.name,
            state=State.SENT if n % 2 else State.FAILED,
            reason="" if n % 2 else "gave_up",
            cause_id=str(n),
            created_at=now,
            finished_at=now,
        )
        for n in range(500)
    )
    with (
        mock.patch.object(reach, "REACH", 150),
        CaptureQueriesContext(connection) as seen,
    ):
        first = read(viewer, LIST, category=TRIAL.name)
    ours = [q["sql"] for q in seen if 'FROM "notifications_notification"' in q["sql"]]
    assert ours
    assert [sql for sql in ours if "LIMIT" not in sql] == []
    assert first.count('name="_selected_action"') == 0  # without the permission no boxes
    assert "150 notifications" in first
    step = re.search(r'href="\?([^"]+)">Older', first).group(1).replace("&amp;", "&")
    with mock.patch.object(reach, "REACH", 150):
        second = read(viewer, LIST + "?" + step)
    assert "100 older notifications" in second
    with mock.patch.object(reach, "REACH", 50):
        third = read(viewer, LIST, category=TRIAL.name)
    assert "50 notifications" in third
    assert "Look further back" in third


# Sending again


def test_sending_again_asks_why_and_does_it_and_leaves_a_trace(officer, message, bo):
    able = officer("notifications.view_notification", "notifications.resend_notification")
    row = message(State.FAILED, "gave_up")
    asked = read(able, resend_of(row))
    assert "A test of the mail to bo" in asked
    able.post(resend_of(row), {"reason": " ", "confirmed": "1"})
    row.refresh_from_db()
    assert row.state == State.FAILED
    answer = able.post(resend_of(row), {"reason": "the mailbox is back", "confirmed": "1"})
    assert answer.url == page_of(row)
    row.refresh_from_db()
    assert row.state == State.PENDING
    assert Job.objects.get().kind == "notifications.deliver"
    assert LogEntry.objects.get().change_message == "Send again: the mailbox is back"


def test_sending_again_what_needs_it_not_is_refused_in_words(officer, message):
    able = officer("notifications.view_notification", "notifications.resend_notification")
    row = message(State.SENT)
    assert "Send again" not in read(able, page_of(row))
    said = {"reason": "x", "confirmed": "1"}
    answer = able.post(resend_of(row), said, follow=True).content.decode()
    assert "A test of the mail to bo: refused." in answer
    assert not Job.objects.exists()


# Previews and tests


def test_every_template_is_previewed_in_every_language(officer, settings):
    able = officer("notifications.preview_template")
    listed = read(able, PREVIEWS)
    found = re.findall(r'href="(/admin/notifications/notification/preview/([^/]+)/[^"]+)"', listed)
    names = {each.name for each in shipped()}
    found = [path for path, name in found if name in names]
    assert len(found) == len(names) * len(settings.LANGUAGES)
    for path in found:
        assert "<iframe" in read(able, path.replace("&amp;", "&"))
    for each in shipped():
        if each.withholds:
            path = f"{PREVIEWS}{each.name}/"
            shown, withheld = read(able, path), read(able, path, withheld="1")
            assert "With its title withheld" in shown
            assert "With its title<" in withheld
    assert "Das tun sie" in read(able, ONE, language="de")
    assert "Das tun sie" in read(able, ONE + "html/", language="de")


@pytest.mark.parametrize("query", [{"language": "xx"}, {"withheld": "1"}])
def test_what_cannot_be_previewed_is_not_found(officer, query):
    able = officer("notifications.preview_template")
    read(able, ONE, 404, **query)
    read(able, PREVIEWS + "gone.news/", 404)


def test_the_framed_mail_can_do_nothing(officer):
    able = officer("notifications.preview_template")
    framed = able.get(ONE + "html/")
    policy = framed.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert "script-src" not in policy
    assert "frame-ancestors 'self'" in policy
    assert framed.headers["x-frame-options"] == "SAMEORIGIN"
    page = able.get(ONE)
    assert '<iframe class="nt-frame" sandbox ' in page.content.decode()
    assert "frame-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["x-frame-options"] == "DENY"
    assert "frame-src" not in able.get(PREVIEWS).headers["content-security-policy"]


def test_a_nasty_sample_is_text_in_the_preview(officer, tmp_path, settings, monkeypatch):
    folder = tmp_path / "notifications" / "test.nasty"
    folder.mkdir(parents=True)
    for part in ("subject.txt", "body.txt", "body.html"):
        (folder / part).write_text("{{ name }}")
    settings.TEMPLATES = [
        {**settings.TEMPLATES[0], "DIRS": [tmp_path, *settings.TEMPLATES[0]["DIRS"]]}
    ]
    sample = Subject({"name": NASTY})
    nasty = Category("test.nasty", NASTY, True, lambda _: sample, lambda: sample)
    monkeypatch.setitem(_categories, nasty.name, nasty)
    able = officer("notifications.preview_template")
    for path in (PREVIEWS, PREVIEWS + "test.nasty/", PREVIEWS + "test.nasty/html/"):
        assert NASTY not in read(able, path)


def test_a_test_goes_to_the_officers_own_address_and_the_page_says_what_became_of_it(
    officer, settings, tmp_path
):
    settings.NOTIFICATIONS_FROM = "hub@example.org"
    settings.NOTIFICATIONS_MAIL_URL = f"file://{tmp_path}"
    able = officer("notifications.preview_template")
    posted = able.post(ONE + "test/", {"language": "de", "to": "evil@example.org"})
    assert "On its way" in why(read(able, posted.url))
    again = able.post(ONE + "test/", {"language": "de"})
    assert again.url == posted.url
    assert not run_due_jobs(raise_failures=True).failures
    (sent,) = [each for each in tmp_path.iterdir() if each.is_file()]
    mail = sent.read_text()
    assert "To: officer@example.org" in mail
    assert "Subject: E-Mails von hier kommen an" in mail
    assert "The mail server took it for officer@example.org" in why(read(able, posted.url))
    other = officer("notifications.preview_template")
    assert "hq-why" not in read(other, posted.url)


def test_a_test_without_an_address_is_refused_at_once(officer):
    able = officer("notifications.preview_template", email="")
    answer = able.post(ONE + "test/", {"language": "en"}, follow=True)
    assert "your account has no address" in answer.content.decode()
    assert not Job.objects.exists()


def test_a_test_without_a_mail_server_says_so(officer, settings):
    settings.NOTIFICATIONS_MAIL_URL = ""
    able = officer("notifications.preview_template")
    posted = able.post(ONE + "test/", {"language": "en"})
    run_due_jobs(limit=5, kinds=["notifications.test_mail"])
    said = why(read(able, posted.url))
    assert "On its way" in said
    assert "No mail server is set" in said
