"""Archives that are made of what was changed since."""

from pathlib import Path
from shutil import rmtree

import pytest

from backups.models import BackupRestore, BackupRun, BackupTarget
from backups.restores import request_restore
from leads.models import Event, Registration
from tests.backups.restoring.conftest import archive_of, changed, checksums, performed
from tests.support.damage import flip

pytestmark = pytest.mark.django_db(transaction=True)
State = BackupRestore.State


def test_what_is_replaced_is_copied_first_and_the_copy_brings_it_back(
    archived: BackupRun, acme: Event
):
    changed(acme)
    before = checksums("acme")
    restore = performed(request_restore(archived, mode="replace"))
    copy = restore.safety
    assert copy is not None
    assert (copy.trigger, copy.tenant, copy.state) == ("pre_restore", "acme", "SUCCEEDED")
    assert copy.snapshot_at > restore.requested_at
    assert checksums("acme") != before
    assert performed(request_restore(copy, mode="replace")).state == State.SUCCEEDED
    assert checksums("acme") == before


def test_a_look_at_what_changed_reads_all_that_it_goes_on_from(
    acme: Event, cellar: BackupTarget, volume: Path
):
    full = archive_of(None, cellar)
    one = Registration.objects.filter(event=acme).order_by("pk")[:1]
    Registration.objects.filter(pk__in=one).update(name="Changed")
    changes = archive_of(None, cellar, mode="incremental")
    assert changes.mode == "incremental"
    found = performed(request_restore(changes, mode="inspect"))
    assert (found.state, found.report["refused"]) == (State.SUCCEEDED, "")
    assert found.report["after"] == [full.archive]
    registrations = found.report["rows"]["leads.Registration"]
    assert registrations == Registration.objects.count() + 1  # one is in both
    (member,) = volume.rglob(f"{full.archive}/data/leads.Registration.jsonl.zst")
    flip(member)
    assert (
        performed(request_restore(changes, mode="inspect")).report["code"]
        == "backups.member_damaged"
    )
    rmtree(member.parent.parent)
    assert (
        performed(request_restore(changes, mode="inspect")).report["code"]
        == "backups.parent_missing"
    )
