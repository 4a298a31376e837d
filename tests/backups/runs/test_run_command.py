"""``manage.py backups run``."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from backups.commands import watch as verb
from backups.models import BackupRun
from hubqueue.models import Operation
from hubqueue.testing import run_due_jobs
from tests.leads.made import make_event

pytestmark = pytest.mark.django_db(transaction=True)


def told(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("backups", "run", "--target", "Cellar", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the command waits, the job is run."""
    monkeypatch.setattr(verb, "sleep", lambda seconds: run_due_jobs(queues=["backups"]))


def test_it_watches_the_run_to_its_end_and_says_what_was_made(cellar: Any, worked: None) -> None:
    out, err = told("--actor", "boss", "--reason", "before the move", "--json")
    run = BackupRun.objects.get()
    said = json.loads(out)
    assert said["id"] == str(run.pk)
    assert (said["state"], said["archive"], said["rows"]) == ("SUCCEEDED", run.archive, run.rows)
    assert "No living worker serves the queue backups" in err
    entry = Operation.objects.get(verb="backups.start")
    assert (entry.actor, entry.reason) == ("boss", "before the move")


def test_one_that_fails_is_an_error_with_its_code(cellar: Any, worked: None, settings: Any) -> None:
    settings.BACKUPS_KEYS = ""
    with pytest.raises(CommandError, match=r"The run is failed \(backups.keys_unusable\)\."):
        told()


def test_it_need_not_wait(cellar: Any) -> None:
    make_event(tenant_id="acme")
    out, _ = told("--no-wait", "--tenant", "acme")
    assert out.startswith("running  hubqueue-backup-tenant-acme-")


def test_a_tenant_that_nobody_is_is_refused_in_words(cellar: Any) -> None:
    make_event(tenant_id="acme")
    with pytest.raises(CommandError, match="backups.tenant_unknown: .*, got 'acem', which no row"):
        told("--tenant", "acem")
    assert not BackupRun.objects.exists()


def test_a_busy_target_and_an_unknown_one_are_refused(cellar: Any) -> None:
    make_event(tenant_id="acme")
    told("--no-wait", "--tenant", "acme")
    with pytest.raises(CommandError, match="backups.target_busy: A run of something else"):
        told("--no-wait")
    with pytest.raises(CommandError, match="There is no target 'Attic'"):
        call_command("backups", "run", "--target", "Attic")
