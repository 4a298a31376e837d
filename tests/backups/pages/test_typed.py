"""A verb that destroys is done after its name was typed, for one row at a time, and not before."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.contrib.messages.storage.cookie import CookieStorage
from django.test import RequestFactory

from backups.admin.runs import BackupRunAdmin
from backups.errors import RunEnded
from backups.models import BackupRun
from hubqueue.admin.ask import Verb, ask_and_do

pytestmark = pytest.mark.django_db
SAID = {"confirmed": "1", "reason": "the audit asks"}


@pytest.fixture
def destroyed():
    return []


@pytest.fixture
def ask(destroyed):
    """Asks for the destruction of every run; answers the page, or None when it was done or refused."""
    verb = Verb(
        word="destroy",
        label="Destroy",
        explanation="It is gone then.",
        permission="backups.restore_backuprun",
        done="gone.",
        do=lambda row, actor, reason: destroyed.append((row.pk, actor, reason)),
        refusal=RunEnded,
        typed=lambda row: row.archive,
    )
    user = User.objects.create_superuser("ada")

    def post(**said):
        request = RequestFactory().post("/", {**SAID, **said} if said else {})
        request.user = user
        request._messages = CookieStorage(request)
        page = BackupRunAdmin(BackupRun, admin.site)
        answer = ask_and_do(page, request, BackupRun.objects.all(), verb)
        return answer and answer.render().content.decode()

    return post


def test_the_name_is_asked_for(ask, made, destroyed):
    made(archive="<all>-1")
    said = ask()
    assert "Expected: &lt;all&gt;-1" in said
    assert "hq-danger" in said
    assert destroyed == []


@pytest.mark.parametrize("typed", ["", "all-2", "ALL-1", "all-1 all-1"])
def test_nothing_is_done_for_anything_else(ask, made, destroyed, typed):
    made(archive="all-1")
    assert "errornote" in ask(typed=typed)
    assert destroyed == []


def test_it_is_done_for_the_name_and_what_was_typed_is_not_handed_on(ask, made, destroyed):
    run = made(archive="all-1")
    assert ask(typed=" all-1 ") is None
    assert destroyed == [(run.pk, "ada", "the audit asks")]


def test_more_than_one_at_once_is_refused(ask, made, destroyed):
    made(archive="all-1")
    made(archive="all-1", days=2)
    assert ask(typed="all-1") is None
    assert destroyed == []
