"""A tenant's rows are replaced by those of an archive, whatever stops it on the way; nobody else's are touched."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from backups import restores
from backups.decisions import decisions_of
from backups.errors import ArchiveMissing, RestoreBusy, RestoreEnded, RestoreRefused
from backups.models import BackupRestore, BackupRun, BackupSchedule, BackupTarget, RestoreKey
from backups.restores import request_restore
from backups.restoring import clear, reading, safety
from backups.restoring import load as loading
from backups.restoring.work import Work
from hubqueue import officers as queue_officers
from hubqueue.models import Job, Operation, Pause
from hubqueue.querysets import database_now
from hubqueue.testing import run_due_jobs
from leads import services
from leads.models import Event, LeadProvenance, Question, Registration
from leads.parked_handler import tell_parked
from notifications.models import Notification
from tests.backups.restoring.conftest import QUEUE, changed, checksums, performed
from tests.leads.made import walk_until_done
from tests.support.damage import flip

pytestmark = pytest.mark.django_db
State, Phase = BackupRestore.State, BackupRestore.Phase


class Killed(BaseException):
    """What a process that is killed does not survive."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of two rows, so that few rows are many batches."""
    for module in (clear, reading):
        monkeypatch.setattr(module, "BATCH", 2)


@pytest.fixture
def really_copied() -> None:
    """The copy is a promise of the test, so it is made."""


@pytest.fixture(autouse=True)
def copied(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy of what is there is complete as soon as it is asked for."""

    def at_once(target: BackupTarget, *, trigger: str, tenant: str, asked_by: str) -> BackupRun:
        now = database_now("default")
        return BackupRun.objects.create(
            target=target, tenant=tenant, trigger=trigger, asked_by=asked_by, state="SUCCEEDED",
            archive=f"copy {asked_by}", finished_at=now, verified_at=now, snapshot_at=now,
        )  # fmt: skip

    if "really_copied" not in request.fixturenames:
        monkeypatch.setattr(safety, "request_run", at_once)


def asked(run: BackupRun, **more: Any) -> BackupRestore:
    return request_restore(run, mode="replace", asked_by="boss", **more)


def paused() -> list[str]:
    return list(Pause.objects.filter(scope="tenant").values_list("value", flat=True))


def test_the_rows_of_a_tenant_are_those_of_the_archive_again(
    archived: BackupRun, acme: Event, really_copied: None
):
    before, others = checksums("acme"), checksums("other")
    changed(acme)
    assert checksums("acme") != before
    restore = performed(asked(archived))
    assert (restore.state, restore.code, restore.share) == (State.SUCCEEDED, "", 1)
    assert checksums("acme") == before
    assert checksums("other") == others
    assert restore.cleared
    assert paused() == []
    assert not RestoreKey.objects.exists()
    assert Job.objects.get(pk=restore.job_id).state == "SUCCEEDED"


def test_groups_whose_members_were_all_deleted_come_back_with_them(
    archived: BackupRun, acme: Event
) -> None:
    """Nothing leads from such a group to any tenant: it is nobody else's. One that was made later goes."""
    before, others = checksums("acme"), checksums("other")
    groups = LeadProvenance.objects.count()
    changed(acme)
    services.create_rule(name="later", event=acme, on_create=True)
    services.register(acme, name="Latecomer", phone="later")
    walk_until_done()
    assert LeadProvenance.objects.count() > groups
    Registration.objects.filter(event=acme).delete()
    restore = performed(asked(archived))
    assert (restore.state, restore.code) == (State.SUCCEEDED, "")
    assert checksums("acme") == before
    assert checksums("other") == others
    assert LeadProvenance.objects.count() == groups


def test_the_copy_is_named_before_anything_is_changed(
    archived: BackupRun, acme: Event, really_copied: None
):
    changed(acme)
    before = checksums("acme")
    restore = asked(archived)
    run_due_jobs(kinds=["backups.restore"], queues=QUEUE)
    restore.refresh_from_db()
    assert restore.safety is not None
    assert (restore.state, restore.phase, restore.code) == (
        State.RUNNING,
        Phase.COPY,
        "backups.safety_running",
    )
    assert checksums("acme") == before
    assert Job.objects.get(pk=restore.job_id).attempts == 0
    assert paused() == []


def test_without_a_copy_nothing_is_replaced(archived: BackupRun, acme: Event, really_copied: None):
    changed(acme)
    before = checksums("acme")
    restore = asked(archived)
    run_due_jobs(kinds=["backups.restore"], queues=QUEUE)
    BackupRun.objects.filter(trigger="pre_restore").update(
        state="FAILED", code="backups.target_full", finished_at=database_now("default")
    )
    performed(restore)
    assert (restore.state, restore.code) == (State.FAILED, "backups.safety_failed")
    assert checksums("acme") == before
    assert paused() == []


def kill_at(monkeypatch: pytest.MonkeyPatch, number: int, moment: str) -> None:
    """The next attempts die at their batch of this number: in its open transaction, or right after its commit."""
    batch, left = Work.batch, [number]

    @contextmanager
    def dying(work: Work) -> Iterator[None]:
        left[0] -= 1
        with batch(work):
            yield
            if left[0] == 0 and moment == "inside":
                raise Killed
        if left[0] == 0:
            raise Killed

    monkeypatch.setattr(Work, "batch", dying)


def revived(restore: BackupRestore) -> None:
    """As if the lease of the process that died had run out."""
    Job.objects.filter(pk=restore.job_id).update(
        state="READY", claimed_by=None, run_at=database_now("default"), attempts=0
    )


@pytest.mark.slow
@pytest.mark.parametrize(("number", "moment"), [(2, "inside"), (1, "after")])
def test_killed_at_every_batch_it_comes_to_the_same_rows(
    archived: BackupRun, acme: Event, small: None, number: int, moment: str
):
    before, others = checksums("acme"), checksums("other")
    changed(acme)
    restore = asked(archived)
    run_due_jobs(kinds=["backups.restore"], queues=QUEUE)  # asks for the copy
    run_due_jobs(kinds=["backups.run"], queues=QUEUE)
    deaths: Counter[str] = Counter()
    while restore.state == State.RUNNING and deaths.total() < 300:
        revived(restore)
        with pytest.MonkeyPatch.context() as patched:
            if deaths[Phase.LINK] < 2:  # what is left then writes nothing new
                kill_at(patched, number, moment)
            report = run_due_jobs(kinds=["backups.restore"], queues=QUEUE)
        restore.refresh_from_db()
        deaths[restore.phase] += sum(isinstance(each.error, Killed) for each in report.runs)
    assert deaths[Phase.CLEAR] > 5
    assert deaths[Phase.LOAD] > 5
    assert (restore.state, restore.code) == (State.SUCCEEDED, "")
    assert checksums("acme") == before
    assert checksums("other") == others


def test_an_attempt_goes_on_where_the_last_commit_was(
    archived: BackupRun, acme: Event, small: None, monkeypatch: pytest.MonkeyPatch
):
    restore = asked(archived)
    run_due_jobs(kinds=["backups.restore"], queues=QUEUE)
    run_due_jobs(kinds=["backups.run"], queues=QUEUE)
    written: list[int] = []
    write = loading.write

    def counted(connection: Any, table: Any, types: Any, rows: Any, **more: Any) -> Any:
        if len(written) == 3:
            written.append(0)
            raise Killed
        written.append(len(rows))
        return write(connection, table, types, rows, **more)

    monkeypatch.setattr(loading, "write", counted)
    revived(restore)
    run_due_jobs(kinds=["backups.restore"], queues=QUEUE)
    revived(restore)
    run_due_jobs(kinds=["backups.restore"], queues=QUEUE)
    restore.refresh_from_db()
    assert restore.state == State.SUCCEEDED
    assert sum(written) == archived.rows == restore.rows


def test_of_two_restores_of_a_tenant_the_second_is_refused_in_words(archived: BackupRun):
    first = asked(archived)
    with pytest.raises(RestoreBusy, match="the rows of acme: wait") as refused:
        asked(archived)
    assert refused.value.code == "backups.restore_busy"
    with pytest.raises(RestoreBusy):
        request_restore(archived, mode="merge", if_there="skip")
    assert request_restore(archived, mode="inspect").state == State.RUNNING
    assert BackupRestore.objects.exclude(mode="inspect").get() == first


def stopped_at(
    monkeypatch: pytest.MonkeyPatch, restore: BackupRestore, phase: str, number: int
) -> list[str]:
    """An officer cancels when so many batches of a phase have begun; answers the phases of all batches begun since."""
    batch, seen, after = Work.batch, [0], []

    def watched(work: Work) -> Any:
        seen[0] += work.restore.phase == phase
        if seen[0] > number:
            after.append(work.restore.phase)
        if seen[0] == number and not after:
            work.job.watch.stop = "cancel"  # type: ignore[assignment]
            Job.objects.filter(pk=restore.job_id).update(stop_requested="cancel")
        return batch(work)

    monkeypatch.setattr(Work, "batch", watched)
    return after


def test_a_cancel_before_the_clear_leaves_everything_as_it_was(
    archived: BackupRun, acme: Event, monkeypatch: pytest.MonkeyPatch
):
    changed(acme)
    before = checksums("acme")
    restore = asked(archived)
    stopped_at(monkeypatch, restore, Phase.PARK, 1)
    performed(restore)
    assert restore.state == State.CANCELLED
    assert checksums("acme") == before
    assert paused() == []


@pytest.mark.parametrize("phase", [Phase.CLEAR, Phase.LOAD])
def test_a_cancel_stops_before_the_next_batch_and_the_tenant_stays_paused(
    archived: BackupRun, acme: Event, small: None, monkeypatch: pytest.MonkeyPatch, phase: str
):
    before = checksums("acme")
    restore = asked(archived)
    after = stopped_at(monkeypatch, restore, phase, 3)
    performed(restore)
    assert restore.state == State.CANCELLED
    assert after == []
    assert restore.cleared is (phase == Phase.LOAD)
    assert paused() == ["acme"]
    with pytest.raises(RestoreEnded):
        restores.cancel(restore, actor="boss", reason="again")
    monkeypatch.undo()
    # The way out is a restore that comes to its end.
    assert performed(asked(archived)).state == State.SUCCEEDED
    assert checksums("acme") == before
    assert paused() == []


def test_rows_that_nothing_led_to_the_tenant_yet_when_it_was_stopped_do_not_stand_in_the_way(
    archived: BackupRun, acme: Event, monkeypatch: pytest.MonkeyPatch
):
    """A group belongs to its tenant by its members, which are written after it."""
    before, others = checksums("acme"), checksums("other")
    groups = LeadProvenance.objects.count()
    restore = asked(archived)
    batch = Work.batch

    def stopping(work: Work) -> Any:
        if work.restore.label == "leads.LeadProvenance":
            work.job.watch.stop = "cancel"  # type: ignore[assignment]
            Job.objects.filter(pk=restore.job_id).update(stop_requested="cancel")
        return batch(work)

    with monkeypatch.context() as patched:
        patched.setattr(Work, "batch", stopping)
        assert performed(restore).state == State.CANCELLED
    assert LeadProvenance.objects.count() == groups
    assert not LeadProvenance.objects.filter(
        registrations__registration__event__tenant_id="acme"
    ).exists()
    again = performed(asked(archived))
    assert (again.state, again.code) == (State.SUCCEEDED, "")
    assert checksums("acme") == before
    assert checksums("other") == others
    assert not RestoreKey.objects.exists()


def test_an_officer_cancels_one_that_waits_at_once_and_leaves_a_word(archived: BackupRun):
    restore = restores.start(archived, mode="replace", actor="boss", reason="a wrong import")
    restores.cancel(restore, actor="boss", reason="not today")
    restore.refresh_from_db()
    assert restore.state == State.CANCELLED
    said = Operation.objects.filter(verb__startswith="backups.").order_by("id")
    assert [(each.verb, each.reason) for each in said] == [
        ("backups.replace", "a wrong import"),
        ("backups.stop_restore", "not today"),
    ]


def test_what_the_tenant_has_unfinished_is_parked_first_and_stays_so(
    archived: BackupRun, acme: Event
):
    request_id = acme.lead_request.pk
    mine = tell_parked.using(tenant="acme").enqueue(request_id=request_id)
    other = tell_parked.using(tenant="other").enqueue(request_id=request_id)
    performed(asked(archived))
    parked = Job.objects.get(pk=mine.id)
    assert (parked.state, parked.park_reason) == ("PARKED", "restored")
    assert Job.objects.get(pk=other.id).state == "READY"


def test_a_job_that_runs_is_asked_to_stop_and_waited_for(archived: BackupRun, acme: Event):
    before = checksums("acme")
    mine = tell_parked.using(tenant="acme").enqueue(request_id=acme.lead_request.pk)
    Job.objects.filter(pk=mine.id).update(
        state="RUNNING", claimed_by=archived.pk, claimed_at=database_now("default"), fence=10**12
    )
    restore = performed(asked(archived), steps=3)
    assert (restore.state, restore.phase, restore.code) == (
        State.RUNNING,
        Phase.PARK,
        "backups.tenant_running",
    )
    assert Job.objects.get(pk=mine.id).stop_requested == "park"
    assert paused() == ["acme"]
    assert checksums("acme") == before
    Job.objects.filter(pk=mine.id).update(state="PARKED", claimed_by=None, stop_requested=None)
    assert performed(restore).state == State.SUCCEEDED


def test_a_pause_of_an_officers_stands_afterwards(archived: BackupRun):
    queue_officers.pause("tenant", "acme", actor="boss", reason="a dispute")
    assert performed(asked(archived)).state == State.SUCCEEDED
    assert paused() == ["acme"]


def test_an_archive_that_refers_to_people_who_are_gone_is_refused_before_anything_is_asked(
    archived: BackupRun, boss: User
):
    Notification.objects.all().delete()
    boss.delete()
    before = checksums("acme")
    restore = performed(asked(archived))
    assert (restore.state, restore.code) == (State.FAILED, "backups.rows_missing")
    assert restore.safety is None
    assert checksums("acme") == before


def test_rows_that_went_to_another_tenant_are_not_taken_from_it(archived: BackupRun, acme: Event):
    Event.objects.filter(pk=acme.pk).update(tenant_id="other", code="moved")
    restore = performed(asked(archived))
    assert (restore.state, restore.code) == (State.FAILED, "backups.restore_refused")
    assert restore.safety is None
    assert Registration.objects.filter(event=acme).exists()


def test_a_damaged_archive_is_refused_before_anything_is_asked(
    archived: BackupRun, acme: Event, volume: Any
):
    (member,) = volume.rglob(f"{archived.archive}/data/leads.Event.jsonl.zst")
    flip(member)
    before = checksums("acme")
    restore = performed(asked(archived))
    assert (restore.state, restore.code) == (State.FAILED, "backups.member_damaged")
    assert restore.safety is None
    assert checksums("acme") == before


def test_shared_rows_are_left_as_they_are_and_come_back_when_they_are_gone(
    archived: BackupRun, acme: Event
):
    Question.objects.filter(title="Food for other?").update(title="Food?")
    assert performed(asked(archived)).state == State.SUCCEEDED
    assert Question.objects.filter(title="Food?").exists()


def test_the_archive_and_the_copy_stay_while_they_are_read(
    archived: BackupRun, cellar: BackupTarget
):
    BackupRun.objects.update(trigger="schedule")
    nothing = dict.fromkeys(("keep_daily", "keep_weekly", "keep_monthly", "keep_yearly"), 0)
    schedule = BackupSchedule.objects.create(
        name="S", target=cellar, tenant="acme", rule="0 3 * * *", keep_last=1, min_keep=1, **nothing
    )
    newer = BackupRun.objects.create(
        target=cellar, tenant="acme", trigger="schedule", state="SUCCEEDED", archive="newer",
        finished_at=database_now("default"), verified_at=database_now("default"),
    )  # fmt: skip
    assert {each.archive.id for each in decisions_of(schedule) if each.expires} == {
        str(archived.pk)
    }
    restore = asked(archived)
    assert not any(each.expires for each in decisions_of(schedule))
    restores.cancel(restore, actor="boss", reason="enough")
    assert {each.archive.id for each in decisions_of(schedule) if each.expires} == {
        str(archived.pk)
    }
    assert newer.pk


def test_what_cannot_be_restored_so_is_refused_when_it_is_asked_for(
    archived: BackupRun, cellar: BackupTarget
):
    whole = BackupRun.objects.create(
        target=cellar, trigger="manual", state="SUCCEEDED", archive="all",
        finished_at=database_now("default"),
    )  # fmt: skip
    with pytest.raises(RestoreRefused, match="comes back into an empty database"):
        asked(whole)
    with pytest.raises(RestoreRefused, match="got 'perhaps'"):
        request_restore(archived, mode="merge", if_there="perhaps")
    with pytest.raises(RestoreRefused, match="expected a mode"):
        request_restore(archived, mode="guess")
    BackupRun.objects.filter(pk=archived.pk).update(expiring_at=database_now("default"))
    with pytest.raises(ArchiveMissing):
        asked(archived)


def test_a_request_that_is_rolled_back_leaves_neither_restore_nor_job(archived: BackupRun):
    with pytest.raises(RuntimeError), transaction.atomic():
        asked(archived)
        raise RuntimeError
    assert not BackupRestore.objects.exists()
    assert not Job.objects.filter(kind="backups.restore").exists()
