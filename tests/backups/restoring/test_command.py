"""``manage.py backups restore --mode``: one tenant, by a worker that the command watches."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from backups.commands import watch
from backups.models import BackupRestore, BackupRun
from hubqueue.models import Operation
from hubqueue.testing import run_due_jobs
from leads.models import Event
from tests.backups.restoring.conftest import QUEUE, checksums

pytestmark = pytest.mark.django_db


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the command waits, the job is run."""
    monkeypatch.setattr(watch, "sleep", lambda seconds: run_due_jobs(queues=QUEUE))


def told(run: BackupRun, *arguments: str) -> str:
    out = StringIO()
    command = ("backups", "restore", run.archive, "--target", "Cellar", *arguments)
    call_command(*command, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_it_watches_each_mode_to_its_end_and_says_what_came_of_it(
    archived: BackupRun, acme: Event, worked: None
) -> None:
    before = checksums("acme")
    looked = json.loads(told(archived, "--mode", "inspect", "--json"))
    assert (looked["state"], looked["report"]["refused"]) == ("SUCCEEDED", "")
    Event.objects.filter(pk=acme.pk).update(name="Changed")
    how = ("--mode", "merge", "--if-there", "overwrite", "--tenant", "acme")
    said = told(archived, *how, "--actor", "boss", "--reason", "a wrong import")
    assert said.startswith("succeeded  merge acme from")
    assert checksums("acme") == before
    entry = Operation.objects.get(verb="backups.merge")
    assert (entry.actor, entry.reason) == ("boss", "a wrong import")
    made = json.loads(told(archived, "--mode", "new_tenant", "--tenant", "second", "--json"))
    assert (made["state"], made["tenant"], made["rows"]) == ("SUCCEEDED", "second", archived.rows)
    assert Event.objects.filter(tenant_id="second").count() == 1


def test_a_look_that_finds_something_is_an_error_in_words(
    archived: BackupRun, worked: None, boss: Any
) -> None:
    boss.delete()
    with pytest.raises(CommandError, match="could not be restored here: .* rows of auth.User"):
        told(archived, "--mode", "inspect")


def test_what_destroys_is_typed_and_what_does_not_fit_is_refused(archived: BackupRun) -> None:
    for how, said in (
        (("--mode", "replace"), "Expected --tenant 'acme'"),
        (("--mode", "replace", "--tenant", "other"), "Expected --tenant 'acme'"),
        (("--mode", "merge", "--tenant", "acme"), "what becomes of rows that are there"),
        (("--mode", "new_tenant", "--tenant", "other"), "backups.restore_refused"),
        (("--mode", "inspect", "--check"), "look with --mode inspect"),
        (("--tenant", "acme"), "belong to --mode"),
    ):
        with pytest.raises(CommandError, match=said):
            told(archived, *how)
    BackupRun.objects.update(archive="another")
    with pytest.raises(CommandError, match=r"backups.archive_missing: No run of this"):
        told(archived, "--mode", "inspect")
    assert not BackupRestore.objects.exists()


def test_it_need_not_wait(archived: BackupRun) -> None:
    assert told(archived, "--mode", "inspect", "--no-wait").startswith("running  inspect acme")
