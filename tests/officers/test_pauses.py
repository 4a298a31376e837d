"""Pauses in the admin, and the pages of what may only be looked at."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hubqueue import officers
from hubqueue.models import Duty, Leader, Operation, Pause, PeriodicTick
from hubqueue.querysets import database_now
from hubqueue.states import State
from tests.officers.conftest import MakeJob, Officer

pytestmark = pytest.mark.django_db

PAUSES = "/admin/hubqueue/pause/"
FORM = {
    "scope": "queue",
    "value": "mail",
    "reason": "the server moves",
    "until_0": "",
    "until_1": "",
}


def test_a_pause_is_added_with_who_and_why(officer: Officer) -> None:
    client = officer("view_pause", "add_pause")
    assert client.get(f"{PAUSES}add/").status_code == 200
    client.post(f"{PAUSES}add/", FORM)

    pause = Pause.objects.get()
    assert (pause.scope, pause.value, pause.reason) == ("queue", "mail", "the server moves")
    assert pause.paused_by == client.user.get_username()  # type: ignore[attr-defined]
    assert Operation.objects.get().verb == "pause"


def test_adding_needs_its_permission(officer: Officer) -> None:
    for client in (officer("view_pause"), officer("view_pause", "resume_pause")):
        assert client.get(f"{PAUSES}add/").status_code == 403
        assert client.post(f"{PAUSES}add/", FORM).status_code == 403
    assert not Pause.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"scope": "planet"},
        {"value": ""},
        {"value": "a\x00b"},
        {"value": "x" * 101},
        {"reason": ""},
        {"until_0": "2020-01-01", "until_1": "00:00"},
    ],
)
def test_a_wrong_form_is_shown_again(wrong: dict[str, str], officer: Officer) -> None:
    answer = officer("view_pause", "add_pause").post(f"{PAUSES}add/", FORM | wrong)
    assert answer.status_code == 200
    assert "errornote" in answer.content.decode()
    assert not Pause.objects.exists()


def test_a_pause_is_resumed_after_asking_why(officer: Officer) -> None:
    pause = officers.pause("queue", "mail", actor="ada", reason="moving")
    client = officer("view_pause", "resume_pause")
    chosen = {"action": "resume", "_selected_action": [str(pause.pk)]}

    assert "Why?" in client.post(PAUSES, {**chosen, "index": "0"}).content.decode()
    assert Pause.objects.exists()
    client.post(PAUSES, {**chosen, "confirmed": "1", "reason": "moved"})
    assert not Pause.objects.exists()
    assert Operation.objects.filter(verb="resume", reason="moved").exists()


def test_resuming_needs_its_permission(officer: Officer) -> None:
    pause = officers.pause("queue", "mail", actor="ada", reason="moving")
    chosen = {"action": "resume", "_selected_action": [str(pause.pk)]}
    officer("view_pause", "add_pause").post(PAUSES, {**chosen, "confirmed": "1", "reason": "moved"})
    assert Pause.objects.exists()


def test_a_pause_cannot_be_edited_or_deleted(officer: Officer) -> None:
    pause = officers.pause("queue", "mail", actor="ada", reason="moving")
    client = officer("view_pause", "add_pause", "resume_pause", "change_pause", "delete_pause")
    assert client.post(f"{PAUSES}{pause.pk}/change/", {**FORM, "value": "other"}).status_code == 403
    assert client.post(f"{PAUSES}{pause.pk}/delete/", {"post": "yes"}).status_code == 403
    assert Pause.objects.get().value == "mail"


@pytest.mark.parametrize(
    "model", ["worker", "leader", "duty", "periodictick", "operation", "pause"]
)
def test_each_page_needs_its_permission(model: str, officer: Officer) -> None:
    assert officer("view_job").get(f"/admin/hubqueue/{model}/").status_code == 403
    assert officer(f"view_{model}").get(f"/admin/hubqueue/{model}/").status_code == 200


def test_workers_show_what_they_run(officer: Officer, make_job: MakeJob, make_worker) -> None:
    alive, gone = make_worker(), make_worker(lease=timedelta(seconds=-9), host="other")
    job = make_job(State.RUNNING, claimed_by=alive.pk)
    client = officer("view_worker")

    text = client.get("/admin/hubqueue/worker/").content.decode()
    assert "alive" in text
    assert "lease passed" in text
    assert str(job.pk) in client.get(f"/admin/hubqueue/worker/{alive.pk}/change/").content.decode()
    assert (
        str(job.pk) not in client.get(f"/admin/hubqueue/worker/{gone.pk}/change/").content.decode()
    )


def test_the_scheduler_can_be_looked_at(officer: Officer, make_job: MakeJob) -> None:
    now = database_now("default")
    Leader.objects.create(host="machine", pid=1, since=now, ticked_at=now)
    Duty.objects.create(name="purge", ran_at=now, error_code="timeout")
    PeriodicTick.objects.create(schedule="nightly", at=now, job_id=make_job().pk)
    client = officer("view_leader", "view_duty", "view_periodictick")

    assert "machine" in client.get("/admin/hubqueue/leader/").content.decode()
    assert "failing" in client.get("/admin/hubqueue/duty/").content.decode()
    assert "nightly" in client.get("/admin/hubqueue/periodictick/").content.decode()
    for model in ("leader/1", "duty/purge", f"periodictick/{PeriodicTick.objects.get().pk}"):
        assert client.get(f"/admin/hubqueue/{model}/change/").status_code == 200


def test_the_log_is_searched_by_job_and_counted_within_bounds(
    officer: Officer, make_job: MakeJob
) -> None:
    job, other = make_job(), make_job()
    for each in (job, other):
        officers.park(each.pk, actor="ada", reason="because")
    client = officer("view_operation")

    with CaptureQueriesContext(connection) as asked:
        text = client.get(f"/admin/hubqueue/operation/?q={job.pk}").content.decode()
    assert str(job.pk) in text
    assert str(other.pk) not in text
    assert not [
        each["sql"]
        for each in asked.captured_queries
        if "COUNT(*)" in each["sql"] and "LIMIT" not in each["sql"]
    ]
    assert client.get("/admin/hubqueue/operation/?q=x").status_code == 200


def test_the_first_page_shows_the_queue_to_those_who_may_see_jobs(officer: Officer) -> None:
    assert "The queue now" in officer("view_job").get("/admin/").content.decode()
    assert "The queue now" not in officer("view_pause").get("/admin/").content.decode()
