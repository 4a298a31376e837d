"""Whose rows are archived is somebody's."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from backups.errors import TenantUnknown
from backups.models import BackupRun, BackupSchedule, BackupTarget
from backups.schedules.keep import keep
from backups.services import request_run
from backups.tenants import refuse_unknown
from hubqueue.testing import move_clock, run_due_jobs
from leads.models import Event, ImportRun
from notifications.models import Notification
from tests.leads.made import make_event

pytestmark = pytest.mark.django_db(transaction=True)
State = BackupRun.State


def performed(target: BackupTarget, tenant: str) -> BackupRun:
    run = request_run(target, trigger="api", tenant=tenant)
    run_due_jobs(queues=["backups"])
    run.refresh_from_db()
    return run


def test_a_row_of_any_model_tells_that_there_is_a_tenant() -> None:
    make_event(tenant_id="acme")
    ImportRun.objects.create(file_name="a", size=1, tenant_id="importer", created_by="boss")
    for tenant in ("acme", "importer", None):
        refuse_unknown(tenant)
    for tenant in ("acem", "Acme", ""):
        with pytest.raises(TenantUnknown, match=f"got '{tenant}'"):
            refuse_unknown(tenant)


def test_a_tenant_whose_rows_are_all_gone_is_archived_as_long_as_there_is_an_archive_of_them(
    cellar: BackupTarget,
) -> None:
    make_event(tenant_id="acme")
    first = performed(cellar, "acme")
    Event.objects.all().delete()
    with move_clock(timedelta(minutes=1)):
        second = performed(cellar, "acme")
    assert (first.state, second.state) == (State.SUCCEEDED, State.SUCCEEDED)
    BackupRun.objects.update(state=State.EXPIRED)
    with move_clock(timedelta(minutes=2)):
        third = performed(cellar, "acme")
    assert (third.state, third.code) == (State.FAILED, "backups.tenant_unknown")


def test_the_run_of_a_schedule_for_nobody_fails_with_a_code_and_people_are_told(
    cellar: BackupTarget, volume: object
) -> None:
    User.objects.create_superuser("boss", email="boss@example.org")
    schedule = keep(BackupSchedule(name="S", target=cellar, tenant="acem", rule="0 * * * *"))
    with move_clock(timedelta(hours=1)):
        run_due_jobs(queues=["default", "backups"])
    run = schedule.runs.get()
    assert (run.state, run.code) == (State.FAILED, "backups.tenant_unknown")
    assert Notification.objects.filter(category="backups.run_failed").exists()
    schedule.refresh_from_db()
    assert schedule.next_run_at is not None
