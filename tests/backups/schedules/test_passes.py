"""What is owed fires once, whatever stops, breaks or runs twice."""

import threading
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection, transaction

from backups.errors import ContentUnknown, RuleRefused
from backups.models import BackupRun, BackupSchedule, BackupTarget
from backups.schedules.handler import schedules_of, whole_installation
from backups.schedules.keep import keep, target_enabled
from backups.schedules.passes import run_pass
from hubqueue.models import Job
from hubqueue.querysets import database_now
from hubqueue.registry import registry
from hubqueue.states import State
from hubqueue.testing import move_clock, run_due_jobs
from tests.backups.schedules.conftest import HOUR, MakeSchedule
from tests.leads.made import make_event

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def jobs(tenant: str = "acme") -> list[Job]:
    found = Job.objects.unfinished_with_key("backups.schedule", tenant)
    return list(found)


def fresh(schedule: BackupSchedule) -> BackupSchedule:
    return BackupSchedule.objects.get(pk=schedule.pk)


def do_passes() -> None:
    """What is due of passes alone: the runs that they start are other tests'."""
    run_due_jobs(queues=["default"])


def end_runs() -> None:
    BackupRun.objects.filter(state="RUNNING").update(
        state="SUCCEEDED", finished_at=database_now("default")
    )


def test_a_schedule_that_is_saved_owes_its_next_moment_and_its_tenants_job_waits_for_it(
    make: MakeSchedule,
) -> None:
    schedule = make()
    now = database_now("default")
    assert schedule.next_run_at is not None
    assert now < schedule.next_run_at <= now + HOUR
    (job,) = jobs()
    assert job.run_at == schedule.next_run_at


def test_what_is_due_is_fired_and_the_job_comes_back_for_the_next(make: MakeSchedule) -> None:
    schedule = make()
    with move_clock(HOUR):
        do_passes()
        run = BackupRun.objects.get()
        assert (run.schedule_id, run.trigger, run.tenant, run.mode) == (
            schedule.pk,
            "schedule",
            "acme",
            "full",
        )
        (job,) = jobs()
        assert job.run_at == fresh(schedule).next_run_at == schedule.next_run_at + HOUR


def test_a_stop_of_three_days_is_caught_up_with_one_run(make: MakeSchedule) -> None:
    schedule = make()
    with move_clock(3 * DAY):
        do_passes()
        assert BackupRun.objects.count() == 1
        assert fresh(schedule).next_run_at == schedule.next_run_at + 3 * DAY


def test_sixty_that_are_due_at_once_all_fire_in_two_passes(make: MakeSchedule) -> None:
    for number in range(60):
        make(f"Number {number}")
    with move_clock(HOUR):
        assert run_pass("acme").started == 50
        assert run_pass("acme").started == 10
        assert run_pass("acme").started == 0
    assert BackupRun.objects.count() == 60
    assert len(jobs()) == 1


def test_the_job_goes_on_at_once_while_more_is_due(make: MakeSchedule) -> None:
    for number in range(51):
        make(f"Number {number}")
    with move_clock(HOUR):
        do_passes()
        assert BackupRun.objects.count() == 50
        with move_clock(timedelta(seconds=2)):
            do_passes()
            assert BackupRun.objects.count() == 51


@pytest.mark.parametrize(
    "broken", [{"rule": "no rule"}, {"zone": "Europe/Nowhere"}], ids=["rule", "zone"]
)
def test_one_that_cannot_be_read_any_more_is_set_aside_and_the_others_go_on(
    make: MakeSchedule, broken: dict[str, str]
) -> None:
    bad, good = make("Bad"), make("Good")
    BackupSchedule.objects.filter(pk=bad.pk).update(**broken)
    with move_clock(HOUR):
        do_passes()
    assert BackupRun.objects.get().schedule_id == good.pk
    assert (fresh(bad).unreadable, fresh(bad).next_run_at) == (True, None)
    assert fresh(good).unreadable is False
    bad.rule = "30 * * * *"
    assert (keep(bad).unreadable, bad.next_run_at is not None) == (False, True)


def test_a_busy_target_is_waited_for(make: MakeSchedule) -> None:
    first = make("First")
    second = make("Second", target=first.target)
    with move_clock(HOUR):
        do_passes()
        fired = BackupRun.objects.get().schedule
        assert fired is not None
        waiting = BackupSchedule.objects.exclude(pk=fired.pk).get()
        assert waiting.next_run_at is not None
        owed = waiting.next_run_at - database_now("default")
        assert timedelta(minutes=4) < owed <= timedelta(minutes=5)
        end_runs()
        fired.enabled = False  # its next hour may begin within these minutes
        keep(fired)
        with move_clock(timedelta(minutes=6)):
            do_passes()
    assert set(BackupRun.objects.values_list("schedule_id", flat=True)) == {first.pk, second.pk}


def test_what_is_disabled_owes_nothing_and_the_job_ends(make: MakeSchedule) -> None:
    schedule = make()
    schedule.enabled = False
    assert keep(schedule).next_run_at is None
    with move_clock(HOUR):
        do_passes()
        assert jobs() == []
    assert not BackupRun.objects.exists()


def test_a_disabled_target_owes_nothing_and_from_now_on_when_it_is_enabled(
    make: MakeSchedule,
) -> None:
    schedule = make()
    BackupTarget.objects.update(enabled=False)
    with move_clock(3 * DAY):
        do_passes()
        assert not BackupRun.objects.exists()
        assert jobs() == []
        BackupTarget.objects.update(enabled=True)
        target_enabled(schedule.target)
        assert fresh(schedule).next_run_at > database_now("default")
        (job,) = jobs()
        assert job.run_at == fresh(schedule).next_run_at


def test_a_deleted_schedule_ends_the_job_and_the_next_one_seeds_it_again(
    make: MakeSchedule,
) -> None:
    make().delete()
    with move_clock(HOUR):
        do_passes()
        assert jobs() == []
        again = make("Again")
        (job,) = jobs()
        assert job.run_at == again.next_run_at
    ended = Job.objects.filter(kind="backups.schedule", state=State.SUCCEEDED)
    assert ended.count() == 1


def test_seeding_belongs_to_the_transaction_that_saves(make: MakeSchedule) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        make()
        raise ZeroDivisionError
    assert jobs() == []


def test_a_sooner_moment_moves_the_job_that_waits(make: MakeSchedule) -> None:
    make("Yearly", rule="0 0 1 1 *")
    hourly = make("Hourly")
    (job,) = jobs()
    assert job.run_at == hourly.next_run_at


def test_a_change_of_the_name_leaves_what_is_owed(make: MakeSchedule) -> None:
    schedule = make()
    with move_clock(HOUR):
        schedule.name = "Renamed"
        assert keep(schedule).next_run_at < database_now("default")
        schedule.rule = "30 3 * * *"
        assert keep(schedule).next_run_at > database_now("default")


def test_a_rule_that_ends_owes_nothing_more(make: MakeSchedule) -> None:
    schedule = make(rule="FREQ=DAILY;UNTIL=20200101")
    assert schedule.next_run_at is None
    assert jobs() == []


def test_what_cannot_be_used_is_not_saved(make: MakeSchedule) -> None:
    for given in ({"rule": "* * * * *"}, {"full_rule": "x"}, {"zone": "Nowhere"}):
        with pytest.raises(RuleRefused):
            make(**given)
        BackupTarget.objects.all().delete()
    with pytest.raises(ContentUnknown):
        make(content="else")
    assert not BackupSchedule.objects.exists()


def test_a_content_that_nothing_writes_any_more_stops_no_other(make: MakeSchedule) -> None:
    bad, good = make("Bad"), make("Good")
    BackupSchedule.objects.filter(pk=bad.pk).update(content="else")
    with move_clock(HOUR):
        do_passes()
    assert BackupRun.objects.get().schedule_id == good.pk
    assert fresh(bad).next_run_at == bad.next_run_at + HOUR


def test_the_leader_fires_what_belongs_to_no_tenant(make: MakeSchedule) -> None:
    schedule = make(tenant=None)
    assert not Job.objects.filter(kind="backups.schedule").exists()
    assert registry.duties["backups.schedules"].run is whole_installation
    whole_installation()
    assert not BackupRun.objects.exists()
    with move_clock(HOUR):
        whole_installation()
        whole_installation()
    assert BackupRun.objects.get().schedule_id == schedule.pk
    assert fresh(schedule).next_run_at == schedule.next_run_at + HOUR


def test_a_tenants_job_that_died_is_enqueued_again_when_its_moment_has_passed(
    make: MakeSchedule,
) -> None:
    make()
    Job.objects.all().delete()
    whole_installation()
    assert jobs() == []
    with move_clock(HOUR):
        whole_installation()
        whole_installation()
        assert len(jobs()) == 1
        do_passes()
    assert BackupRun.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_passes_at_once_fire_once(make: MakeSchedule) -> None:
    make()
    BackupSchedule.objects.update(next_run_at=database_now("default") - HOUR)
    started: list[int] = []

    def other() -> None:
        try:
            started.append(run_pass("acme").started)
        finally:
            connection.close()

    with transaction.atomic():
        started.append(run_pass("acme").started)
        second = threading.Thread(target=other)
        second.start()
        second.join(timeout=20)
    assert started == [1, 0]
    assert run_pass("acme").started == 0
    assert BackupRun.objects.count() == 1


def test_only_the_tenant_is_in_the_job(make: MakeSchedule) -> None:
    make()
    assert jobs()[0].payload == {"tenant": "acme"}
    assert schedules_of.kind == "backups.schedule"


@pytest.mark.django_db(transaction=True)
def test_a_schedule_makes_an_archive_that_is_sound(make: MakeSchedule, tmp_path: Path) -> None:
    schedule = make("Nightly")
    make_event(tenant_id="acme")
    with move_clock(HOUR):
        do_passes()
        run_due_jobs(queues=["backups"])
    run = BackupRun.objects.get()
    assert (run.state, run.code, run.findings, run.schedule_id) == (
        "SUCCEEDED",
        "",
        [],
        schedule.pk,
    )
    assert run.verified_at is not None
    assert (tmp_path / "nightly" / run.archive / "checksums.txt").is_file()


def modes_of(schedule: BackupSchedule) -> list[str]:
    """What each run of it was asked to be, the first one first."""
    return [run.asked_mode for run in schedule.runs.order_by("started_at")]


def test_the_full_rule_decides_which_runs_are_full(make: MakeSchedule) -> None:
    schedule = make(tenant=None, full_rule="30 */3 * * *")
    for hours in range(1, 7):
        with move_clock(hours * HOUR):
            assert run_pass(None).started == 1
            end_runs()
    # Of three runs one after another that at the hour divisible by three.
    assert sorted(modes_of(schedule)[:3]) == ["full", "incremental", "incremental"]
    assert modes_of(schedule)[:3] == modes_of(schedule)[3:]


def test_a_full_run_that_was_waited_for_or_missed_is_made_full(make: MakeSchedule) -> None:
    schedule = make(tenant=None, rule="0 * * * *", full_rule="30 0 * * *")
    with move_clock(HOUR):
        run_pass(None)
        end_runs()
    with move_clock(26 * HOUR):  # the full one of the night is among those that passed
        run_pass(None)
    assert modes_of(schedule)[-1] == "full"
    end_runs()
    with move_clock(50 * HOUR):
        busy = BackupRun.objects.create(target=schedule.target, trigger="manual", tenant="acme")
        assert run_pass(None).busy == 1
        busy.delete()
    with move_clock(50 * HOUR + timedelta(minutes=6)):
        assert run_pass(None).started == 1
    assert modes_of(schedule)[-1] == "full"
