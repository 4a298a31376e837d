"""Rows of an archive are added to those of a tenant, or only looked at."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from backups.models import BackupRestore, BackupRun, BackupTarget
from backups.restores import request_restore
from backups.restoring import fitting
from hubqueue.models import Pause
from leads.models import Event, Registration, RegistrationAnswer
from notifications.models import Notification
from tests.backups.restoring.conftest import archive_of, changed, checksums, performed

pytestmark = pytest.mark.django_db
State = BackupRestore.State


def merged(run: BackupRun, if_there: str) -> BackupRestore:
    return performed(request_restore(run, mode="merge", if_there=if_there))


def inspected(run: BackupRun) -> BackupRestore:
    return performed(request_restore(run, mode="inspect"))


@pytest.mark.parametrize("if_there", ["skip", "overwrite"])
def test_rows_that_are_gone_come_back_and_those_that_are_new_stay(
    archived: BackupRun, acme: Event, if_there: str
):
    before, others = checksums("acme"), checksums("other")
    RegistrationAnswer.objects.filter(registration__event=acme).delete()
    Notification.objects.filter(tenant_id="acme").delete()
    Event.objects.filter(pk=acme.pk).update(name="Changed")
    restore = merged(archived, if_there)
    assert (restore.state, restore.code, restore.safety) == (State.SUCCEEDED, "", None)
    acme.refresh_from_db()
    assert acme.name == ("Changed" if if_there == "skip" else "Fair")
    Event.objects.filter(pk=acme.pk).update(name="Fair")
    assert checksums("acme") == before
    assert checksums("other") == others
    assert not Pause.objects.exists()
    Event.objects.create(code="later", name="Later", tenant_id="acme")
    assert merged(archived, if_there).state == State.SUCCEEDED
    assert Event.objects.filter(tenant_id="acme").count() == 2


@pytest.mark.parametrize("if_there", ["skip", "overwrite"])
def test_members_that_were_deleted_come_back_to_the_groups_that_they_left(
    archived: BackupRun, acme: Event, if_there: str
):
    before, others = checksums("acme"), checksums("other")
    Registration.objects.filter(event=acme).delete()
    restore = merged(archived, if_there)
    assert (restore.state, restore.code) == (State.SUCCEEDED, "")
    assert checksums("acme") == before
    assert checksums("other") == others


def test_a_merge_of_what_is_there_changes_nothing(archived: BackupRun, acme: Event):
    before = checksums(None)
    for if_there in ("skip", "overwrite"):
        assert merged(archived, if_there).state == State.SUCCEEDED
    assert checksums(None) == before


def test_a_row_that_another_unique_key_stands_against_is_refused_without_a_word_of_it(
    archived: BackupRun, acme: Event, caplog: pytest.LogCaptureFixture
):
    one = Registration.objects.filter(event=acme).first()
    assert one is not None
    answer = RegistrationAnswer.objects.filter(registration=one).get()
    kept = {"registration": one, "question": answer.question, "answer": answer.answer}
    answer.delete()
    RegistrationAnswer.objects.create(**kept)
    restore = merged(archived, "skip")
    assert (restore.state, restore.code) == (State.FAILED, "backups.load_refused")
    assert acme.code not in caplog.text


def test_a_look_says_what_is_there_and_that_it_fits(archived: BackupRun, acme: Event):
    changed(acme)
    before = checksums(None)
    restore = inspected(archived)
    assert restore.state == State.SUCCEEDED
    assert restore.report["rows"]["leads.Event"] == 1
    assert restore.report["refused"] == ""
    assert sum(restore.report["rows"].values()) == archived.rows
    assert checksums(None) == before


def test_a_look_says_in_words_what_would_be_refused(archived: BackupRun, boss: User):
    Notification.objects.all().delete()
    boss.delete()
    restore = inspected(archived)
    assert restore.state == State.SUCCEEDED
    assert restore.report["code"] == "backups.rows_missing"
    assert "1 rows of auth.User that are not here" in restore.report["refused"]


def test_a_look_at_an_archive_of_everything_needs_nothing_of_what_is_here(
    acme: Event, boss: User, cellar: BackupTarget
):
    run = archive_of(None, cellar)
    Notification.objects.all().delete()
    boss.delete()
    assert inspected(run).report["refused"] == ""


def test_a_look_cannot_write(archived: BackupRun, monkeypatch: pytest.MonkeyPatch):
    refuse = fitting._refuse_missing

    def writes(*given: Any) -> None:
        refuse(*given)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE leads_event SET name = 'x'")

    monkeypatch.setattr(fitting, "_refuse_missing", writes)
    restore = inspected(archived)
    assert (restore.state, restore.code) == (State.RUNNING, "database_error")
    assert not Event.objects.filter(name="x").exists()
