"""A tenant who comes while a restore into its name is under way keeps its rows, and gets none of the restore's."""

import pytest

from backups.models import BackupRestore, BackupRun, NewKey
from backups.restores import request_restore
from backups.restoring import perform
from backups.restoring.work import Work
from hubqueue.models import Job
from leads.models import Event
from tests.backups.restoring.conftest import performed

pytestmark = pytest.mark.django_db


def test_a_name_that_was_taken_meanwhile_is_refused_before_a_row_is_written(
    archived: BackupRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_keys = perform.give_keys

    def somebody_comes(work: Work) -> None:
        give_keys(work)
        Event.objects.create(code="of beta", name="Of beta", tenant_id="beta")

    monkeypatch.setattr(perform, "give_keys", somebody_comes)
    Event.objects.filter(tenant_id="acme").update(code="renamed")  # nothing else stands against it
    restore = performed(request_restore(archived, mode="new_tenant", tenant="beta"))
    assert (restore.state, restore.code) == (BackupRestore.State.FAILED, "backups.restore_refused")
    assert Event.objects.get(tenant_id="beta").code == "of beta"
    assert not Job.objects.filter(kind="backups.undo_restore").exists()
    assert not NewKey.objects.exists()
