"""The archive of a tenant comes in once more as that of another: its own rows are new, and nobody else's change."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User

from backups import restores
from backups.errors import RestoreBusy, RestoreRefused
from backups.models import BackupRestore, BackupRun, NewKey, RestoreKey
from backups.restores import request_restore
from backups.restoring import clear, new_keys, reading
from backups.restoring.work import Work
from hubqueue.models import Job
from hubqueue.querysets import database_now
from hubqueue.testing import run_due_jobs
from leads import services
from leads.models import (
    Event,
    ImportProblem,
    ImportRun,
    Lead,
    LeadProvenance,
    LeadRequest,
    LeadRule,
    LeadRulePredicate,
)
from notifications.models import Notification, WebhookDelivery, WebhookMessage, WebhookSubscription
from notifications.services import notify
from notifications.trial import TRIAL
from tests.backups.restoring.conftest import QUEUE, checksums, performed
from tests.backups.restoring.second import brought, expected, kept_keys, rows_of
from tests.leads.made import walk_all, walk_until_done

pytestmark = pytest.mark.django_db
State, Phase = BackupRestore.State, BackupRestore.Phase


def more(acme: Event, boss: User) -> None:
    """Rows that are told of in columns, in texts and in JSON."""
    services.create_rule(name="orders of all", on_create=True)
    services.register(acme, name="B", phone="7", sale_order_id="S1")
    walk_until_done()
    request = LeadRequest.objects.get(event=acme)
    notify(TRIAL.name, [boss], cause=f"of {request.pk}", subject=request, tenant="acme")
    LeadRulePredicate.objects.create(
        rule=acme.lead_rules.get(), axis="event", values=[str(acme.pk)]
    )
    file = ImportRun.objects.create(file_name="a", size=1, tenant_id="acme", created_by="boss")
    ImportProblem.objects.create(run=file, line=1, code="x", reason=f"in {{{acme.pk}}}")
    endpoint = WebhookSubscription.objects.create(
        tenant_id="acme",
        owner=boss,
        name="e",
        url="https://e.example/",
        event_types=["x"],
        secret="x",
    )
    message = WebhookMessage.objects.create(
        tenant_id="acme", subscription=endpoint, event_type="x", cause_id="1", body=b"{}"
    )
    WebhookDelivery.objects.create(
        message=message, subscription=endpoint, ladder=1, attempt=1, headers={"id": str(message.pk)}
    )


@pytest.fixture
def run(archived: BackupRun) -> BackupRun:
    return archived


def asked(run: BackupRun, tenant: str = "second") -> BackupRestore:
    return request_restore(run, mode="new_tenant", tenant=tenant)


def test_a_second_tenant_equals_the_first_up_to_its_keys_and_nobody_else_is_touched(
    run: BackupRun,
) -> None:
    before, others = checksums("acme"), checksums("other")
    rules = LeadRule.objects.filter(event=None).count()
    news: list[str] = []
    for tenant in ("second", "a third one"):
        restore, keys = brought(run, tenant)
        assert (restore.state, restore.code, restore.tenant) == (State.SUCCEEDED, "", tenant)
        found = rows_of(tenant)
        assert found == expected("acme", tenant, keys)
        assert sum(map(len, found.values())) == len(keys)
        assert all(found[f"leads.{name}"] for name in ("Lead", "LeadRulePredicate", "LeadRequest"))
        news += [new for new in keys.values() if "-" in new]
    assert len(news) == len(set(news))
    assert (checksums("acme"), checksums("other")) == (before, others)
    assert LeadRule.objects.filter(event=None).count() == rules
    assert not NewKey.objects.exists()
    assert not RestoreKey.objects.exists()


def test_the_new_tenant_tells_nobody_and_its_leads_are_not_made_again(run: BackupRun) -> None:
    brought(run, "second")
    run_due_jobs()
    assert Notification.objects.get(tenant_id="second", category=TRIAL.name).state == "held"
    assert WebhookSubscription.objects.get(tenant_id="second").state == "disabled"
    assert WebhookMessage.objects.get(tenant_id="second").state == "held"
    leads = Lead.objects.count()
    event = Event.objects.get(tenant_id="second")
    services.arm_event(event)
    assert walk_all().summary.claimed == 1
    assert Lead.objects.count() == leads
    services.register(event, name="C", phone="8", sale_order_id="S1")
    walk_until_done()
    assert Lead.objects.count() == leads
    assert LeadProvenance.objects.filter(group_key="order:second:S1").count() == 2


NO_NAMES = {
    "acme": "that is not there yet",
    "": "that is not there yet",
    " second": "that is not there yet",
    "sec\nond": "that is not there yet",
    "other": "There are rows of .* of a tenant 'other'",
    "x" * 65: "up to 64 letters",
}


def test_a_name_that_cannot_be_taken_is_refused_when_it_is_asked_for(run: BackupRun) -> None:
    for name, said in NO_NAMES.items():
        with pytest.raises(RestoreRefused, match=said):
            asked(run, name)
    with pytest.raises(RestoreRefused, match="no other tenant for replace"):
        request_restore(run, mode="replace", tenant="second")
    assert not BackupRestore.objects.exists()


def test_what_is_unique_over_all_tenants_is_refused_before_a_row_is_written(run: BackupRun) -> None:
    shared = LeadRule.objects.get(event=None)
    there = LeadProvenance.objects.create(
        rule=shared, grouping="per_order", group_key="order:second:S1"
    )
    before = checksums(None)
    restore = performed(asked(run))
    assert (restore.state, restore.code) == (State.FAILED, "backups.restore_refused")
    assert checksums(None) == before
    assert not NewKey.objects.exists()
    there.delete()
    assert performed(asked(run)).state == State.SUCCEEDED  # the name is free again


def left_of(tenant: str) -> int:
    return sum(map(len, rows_of(tenant).values()))


def test_what_one_that_was_stopped_wrote_goes_again_and_then_the_name_is_free(
    run: BackupRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = checksums(None)
    restore = asked(run)
    batch = Work.batch

    def stopping(work: Work) -> Any:
        if work.restore.phase == Phase.LOAD and work.restore.label == "leads.LeadProvenance":
            work.job.watch.stop = "cancel"  # type: ignore[assignment]
            Job.objects.filter(pk=restore.job_id).update(stop_requested="cancel")
        return batch(work)

    with monkeypatch.context() as patched:
        patched.setattr(Work, "batch", stopping)
        run_due_jobs(kinds=["backups.restore"], queues=QUEUE)
    restore.refresh_from_db()
    assert (restore.state, restore.cleared) == (State.CANCELLED, False)
    assert left_of("second") > 0
    with pytest.raises(RestoreBusy, match="still being taken away"):
        asked(run)
    run_due_jobs(kinds=["backups.undo_restore"], queues=QUEUE)
    restore.refresh_from_db()
    assert restore.cleared
    assert checksums(None) == before
    assert not NewKey.objects.exists()
    assert not RestoreKey.objects.exists()
    assert performed(asked(run)).state == State.SUCCEEDED


class Killed(BaseException):
    """What a process that is killed does not survive."""


def test_killed_between_and_within_batches_it_goes_on_without_a_row_twice(
    run: BackupRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (reading, clear, new_keys):
        monkeypatch.setattr(module, "BATCH", 2)
    keys = kept_keys(monkeypatch)
    restore, batch, deaths = asked(run), Work.batch, []

    @contextmanager
    def dying(work: Work) -> Iterator[None]:
        place = (work.restore.phase, work.restore.label)
        fresh = place not in deaths and work.restore.line > 0
        with batch(work):
            yield
            if fresh and len(deaths) % 2:
                deaths.append(place)
                raise Killed
        if fresh:
            deaths.append(place)
            raise Killed

    monkeypatch.setattr(Work, "batch", dying)
    while restore.state == State.RUNNING and len(deaths) < 100:
        Job.objects.filter(pk=restore.job_id).update(
            state="READY", claimed_by=None, attempts=0, run_at=database_now("default")
        )
        (attempt,) = run_due_jobs(kinds=["backups.restore"], queues=QUEUE).runs
        assert isinstance(attempt.error, Killed | None), attempt.error
        restore.refresh_from_db()
    assert (restore.state, restore.code) == (State.SUCCEEDED, "")
    assert {phase for phase, _ in deaths} >= {Phase.KEYS, Phase.LOAD}
    assert len(deaths) > 10
    assert rows_of("second") == expected("acme", "second", keys)


def test_an_officer_asks_for_it_and_leaves_a_word(run: BackupRun) -> None:
    made = restores.start(run, mode="new_tenant", tenant="second", actor="boss", reason="a trial")
    assert (made.tenant, made.asked_by) == ("second", "boss")
    with pytest.raises(RestoreBusy, match="the rows of second"):
        asked(run)
