"""What a restore set aside is sent by nothing but an officer's release."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from backups.data.spec import discover
from hubqueue import officers as queue_officers
from hubqueue.ids import uuid7
from hubqueue.models import Job, Operation
from hubqueue.querysets import Now
from hubqueue.testing import move_clock, run_due_jobs
from notifications import held, officers
from notifications.errors import HeldRefused, NotificationNotFound, ResendRefused
from notifications.models import Notification
from notifications.retention_handler import forget
from notifications.services import notify
from notifications.trial import TRIAL

pytestmark = pytest.mark.django_db
State = Notification.State
LIST = "/admin/notifications/notification/"
SAID = {"actor": "ada", "reason": "The original is gone."}


@pytest.fixture
def bo():
    return get_user_model().objects.create(username="bo", email="bo@example.org")


@pytest.fixture
def waiting(bo):
    """Messages whose jobs have not run."""

    def make(count):
        made = [notify(TRIAL.name, [bo], cause=str(uuid7()))[0] for _ in range(count)]
        return list(Notification.objects.filter(pk__in=made).order_by("pk"))

    return make


def restore(*, jobs=False):
    """This database as a restore leaves a copy of it: with the jobs of the original, parked, or with none."""
    if jobs:
        Job.objects.filter(state="READY").update(state="PARKED", park_reason="restored")
    else:
        Job.objects.all().delete()
    hold()


def hold():
    with connection.cursor() as cursor:
        for each in discover().declared["notifications.Notification"].quiet:
            cursor.execute(each.over())


def run():
    return run_due_jobs(kinds=["notifications.deliver"])


def states(*rows):
    found = Notification.objects.in_bulk([each.pk for each in rows])
    return [found[each.pk].state for each in rows]


# What a restore does


def test_what_waited_is_held_and_what_had_ended_is_as_it_was(bo, waiting, smtp):
    (sent,) = waiting(1)
    run()
    begun, still = waiting(2)
    Notification.objects.filter(pk=begun.pk).update(sending_since=Now(), attempts=1)
    doubted = notify(TRIAL.name, [bo], cause="doubted")[0]
    Notification.objects.filter(pk=doubted).update(state=State.UNCERTAIN, uncertain_since=Now())
    restore()
    begun.refresh_from_db()
    assert (begun.state, begun.reason, begun.sending_since) == (State.HELD, "restored", None)
    assert begun.uncertain_since is not None
    assert states(sent, still) == [State.SENT, State.HELD]
    assert Notification.objects.get(pk=doubted).state == State.UNCERTAIN


@pytest.mark.parametrize("way", ["its old job", "sending again", "the same cause", "retention"])
def test_nothing_but_a_release_sends_what_is_held(bo, waiting, smtp, way):
    (row,) = waiting(1)
    restore(jobs=way == "its old job")
    match way:
        case "its old job":
            queue_officers.release(Job.objects.get().pk, **SAID)
        case "sending again":
            with pytest.raises(ResendRefused, match="on hold"):
                officers.resend(row.pk, **SAID)
        case "the same cause":
            assert notify(TRIAL.name, [bo], cause=row.cause_id) == []
        case "retention":
            with move_clock(timedelta(days=1000)):
                forget.enqueue()
                assert not run_due_jobs(kinds=[forget]).failures
    assert not run().failures
    assert smtp.mails == []
    assert states(row) == [State.HELD]


def test_cancelling_its_old_job_leaves_it_on_hold(waiting):
    (row,) = waiting(1)
    restore(jobs=True)
    queue_officers.cancel(Job.objects.get().pk, **SAID)
    assert states(row) == [State.HELD]


# Letting it go


@pytest.mark.parametrize("jobs", [False, True], ids=["no job", "a parked job"])
def test_what_is_released_is_sent_once_and_who_and_why_is_kept(waiting, smtp, jobs):
    first, second = waiting(2)
    restore(jobs=jobs)
    job = held.release(first.pk, **SAID)
    entry = Operation.objects.get(verb="mail.release")
    assert (entry.job_id, entry.actor, entry.reason) == (job, *SAID.values())
    assert not run().failures
    assert len(smtp.mails) == 1
    assert states(first, second) == [State.SENT, State.HELD]
    with pytest.raises(HeldRefused):
        held.release(first.pk, **SAID)


def test_a_job_that_an_officer_parked_before_stays_parked(waiting, smtp):
    (row,) = waiting(1)
    queue_officers.park(Job.objects.get().pk, actor="bo", reason="not before Monday")
    hold()
    held.release(row.pk, **SAID)
    run()
    assert smtp.mails == []
    assert states(row) == [State.PENDING]
    assert Job.objects.get().park_reason == "not before Monday"


def test_what_is_dropped_is_never_sent(waiting, smtp):
    (row,) = waiting(1)
    restore()
    held.drop(row.pk, **SAID)
    row.refresh_from_db()
    assert (row.state, row.reason) == (State.SUPPRESSED, "dropped")
    assert row.finished_at is not None
    assert Operation.objects.get().verb == "mail.drop"
    with pytest.raises(ResendRefused):
        officers.resend(row.pk, **SAID)
    for verb in (held.release, held.drop):
        with pytest.raises(HeldRefused):
            verb(row.pk, **SAID)
        with pytest.raises(NotificationNotFound):
            verb(uuid7(), **SAID)


@pytest.mark.parametrize("jobs", [False, True], ids=["no jobs", "parked jobs"])
def test_all_are_released_in_one_transaction_the_oldest_first(waiting, smtp, monkeypatch, jobs):
    monkeypatch.setattr(held, "MOST_AT_ONCE", 3)
    monkeypatch.setattr(held, "BATCH", 2)
    rows = waiting(4)
    restore(jobs=jobs)
    most = 2 if jobs else 3  # parked jobs cost time: one batch
    left = 4 - most
    assert held.release_all(**SAID) == most
    assert states(*rows) == [*[State.PENDING] * most, *[State.HELD] * left]
    assert Operation.objects.get(verb="mail.release").target.endswith(f": {most}")
    assert not run().failures
    assert len(smtp.mails) == most
    assert held.drop_all(**SAID) == left
    assert states(*rows) == [*[State.SENT] * most, *[State.SUPPRESSED] * left]


def test_a_release_that_is_rolled_back_sends_nothing(waiting, smtp):
    rows = waiting(2)
    restore()

    class Undone(Exception):
        pass

    with pytest.raises(Undone), transaction.atomic():
        held.release_all(**SAID)
        raise Undone
    run()
    assert smtp.mails == []
    assert states(*rows) == [State.HELD] * 2
    assert not Operation.objects.exists()


# The pages


@pytest.fixture
def officer():
    """Logs in a member of staff who may look at messages, with these permissions besides."""

    def log_in(*permissions):
        user = get_user_model().objects.create_user(f"officer-{uuid7()}", is_staff=True)
        names = ["view_notification", *permissions]
        user.user_permissions.set(Permission.objects.filter(codename__in=names))
        client = Client()
        client.force_login(user)
        return client

    return log_in


def url(name, *args):
    return reverse(f"admin:notifications_notification_{name}", args=args)


def read(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_first_page_the_list_and_the_page_say_what_is_on_hold_and_why(officer, waiting):
    (row,) = waiting(1)
    viewer = officer()
    assert "on hold after a restore" not in read(viewer, "/admin/")
    restore()
    for path in ("/admin/", LIST):
        said = read(viewer, path)
        assert "Mail on hold after a restore" in said
        assert f'{LIST}?state=held"><strong>1</strong>' in said
        assert "Release all" not in said
    assert str(row.pk) in read(viewer, LIST + "?state=held")
    assert str(row.pk) in read(viewer, LIST + "?reason=restored")
    assert str(row.pk) not in read(viewer, LIST + "?state=pending")
    page = read(viewer, url("change", row.pk))
    assert "On hold" in page
    why = re.search(r'class="module hq-why".*?</section>', page, re.S).group()
    assert "Nothing sends it until somebody releases it." in why
    assert url("release", row.pk) not in page


@pytest.mark.parametrize("word", ["release", "drop"])
def test_each_verb_needs_its_own_permission_for_one_for_chosen_ones_and_for_all(
    officer, waiting, word
):
    rows = waiting(3)
    restore()
    one, chosen, every = rows
    said = {"reason": "please", "confirmed": "1", "typed": "drop all"}
    pick = {**said, "action": word, "_selected_action": str(chosen.pk)}
    other = officer({"release": "drop", "drop": "release"}[word] + "_notification")
    for path in (url(word, one.pk), url("held", word)):
        assert other.post(path, said).status_code == 403
    other.post(LIST, pick)
    assert states(*rows) == [State.HELD] * 3
    able = officer(f"{word}_notification")
    assert url(word, one.pk) in read(able, url("change", one.pk))
    assert url("held", word) in read(able, "/admin/")
    assert able.post(url("held", word), {"confirmed": "1"}).status_code == 200
    after = State.PENDING if word == "release" else State.SUPPRESSED
    assert able.post(url(word, one.pk), said).status_code == 302
    assert states(*rows) == [after, State.HELD, State.HELD]
    able.post(LIST, pick)
    assert states(*rows) == [after, after, State.HELD]
    answer = able.post(url("held", word), said, follow=True)
    assert states(every) == [after]
    assert f"1 {word}" in answer.content.decode()
    assert "on hold after a restore" not in read(able, "/admin/")


def test_all_are_dropped_only_after_it_was_typed(officer, waiting):
    (row,) = waiting(1)
    restore()
    able = officer("drop_notification")
    able.post(url("held", "drop"), {"reason": "please", "confirmed": "1", "typed": "drop"})
    assert states(row) == [State.HELD]
