"""An officer's day in a real browser: look, park, release, pause, resume, redrive."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from hubqueue import gauges
from hubqueue.models import Failure, Job, Leader, Pause, Worker
from hubqueue.querysets import database_now
from hubqueue.states import FINISHED, State
from tests.support import handlers

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

Picture = Callable[[str], None]
LogIn = Callable[[str], Any]
KIND = handlers.typed.kind


@pytest.fixture(autouse=True)
def queue() -> None:
    """A queue with something of everything."""
    now = database_now("default")
    worker = Worker.objects.create(
        id=uuid4(),
        host="worker-1",
        pid=4711,
        queues=["default", "mail"],
        kinds=[KIND],
        started_at=now - timedelta(hours=5),
        lease_until=now + timedelta(hours=1),
    )
    Leader.objects.create(host="worker-1", pid=4711, since=now - timedelta(hours=5), ticked_at=now)
    moments = {"run_at": now - timedelta(minutes=7), "created_at": now - timedelta(minutes=9)}
    for number in range(30):
        state = list(State)[number % 6]
        Job.objects.create(
            kind=KIND if number % 4 else handlers.mailed.kind,
            queue="default" if number % 4 else "mail",
            state=state,
            max_attempts=10,
            payload={"lead_id": str(uuid4()), "text": "Grüße"},
            tenant_id=f"tenant-{number % 3}",
            **moments,
            finished_at=now if state in FINISHED else None,
            claimed_by=worker.pk if state == State.RUNNING else None,
            claimed_at=now if state == State.RUNNING else None,
            progress=number / 30 if state == State.RUNNING else None,
            attempts=10 if state == State.DEAD else 1,
            error_code="smtp_refused" if state == State.DEAD else None,
            park_reason="waits for the new template" if state == State.PARKED else None,
        )
    dead = Job.objects.dead().order_by("-id")[0]
    for attempt in range(8, 11):
        Failure.objects.create(
            job=dead,
            attempt=attempt,
            code="smtp_refused",
            exception="smtplib.SMTPRefused",
            failed_at=now - timedelta(minutes=20 - attempt),
            frames=[{"file": "notifications/email.py", "line": 42, "function": "send"}],
        )
    gauges.current.forget()


def test_a_job_is_parked_and_released(log_in: LogIn, picture: Picture) -> None:
    page = log_in("ada")
    assert "The queue now" in page.content()
    picture("index")

    page.goto("/admin/hubqueue/job/")
    picture("list")
    page.goto("/admin/hubqueue/job/?state=due")
    page.click("#result_list tbody tr:first-child th a")
    picture("detail")
    address = page.url.split("?")[0]
    page.click("text=Park")
    picture("confirm")
    page.fill("#id_reason", "the template is wrong")
    page.click("input[value=Park]")
    assert page.url == address
    assert page.inner_text(".hq-head .hq-pill") == "Parked"
    assert "the template is wrong" in page.inner_text("#content-main")
    picture("parked")

    page.click("text=Release")
    page.fill("#id_reason", "the template is right now")
    page.press("#id_reason", "Enter")
    page.wait_for_url(address)
    assert page.inner_text(".hq-head .hq-pill") == "Due"


def test_a_queue_is_paused_and_resumed(log_in: LogIn, picture: Picture) -> None:
    page = log_in("ada")
    page.goto("/admin/hubqueue/pause/add/")
    page.select_option("#id_scope", "queue")
    page.fill("#id_value", "default")
    page.fill("#id_reason", "the mail server moves")
    picture("pause")
    page.click("input[name=_save]")
    assert Pause.objects.get().paused_by == "ada"
    picture("pauses")

    page.goto(f"/admin/hubqueue/job/?state=due&kind={KIND}")
    page.click("#result_list tbody tr:first-child th a")
    assert "is paused by ada" in page.inner_text(".hq-why")
    picture("paused-job")

    page.goto("/admin/hubqueue/pause/")
    page.check("#result_list tbody input.action-select")
    page.select_option("select[name=action]", "resume")
    page.click("button[name=index]")
    picture("resume")
    page.fill("#id_reason", "it has moved")
    page.click("input[value=Resume]")
    page.wait_for_selector(".messagelist")
    assert not Pause.objects.exists()


def test_dead_letters_are_redriven_together(log_in: LogIn, picture: Picture) -> None:
    page = log_in("ada")
    page.goto("/admin/hubqueue/job/?state=DEAD")
    page.click("#result_list tbody tr:first-child th a")
    picture("dead")
    page.go_back()
    page.check("#action-toggle")
    page.select_option("select[name=action]", "redrive")
    page.click("button[name=index]")
    picture("bulk")
    page.fill("#id_reason", "the mail server is back")
    page.click("input[value=Redrive]")
    assert "5 done" in page.inner_text(".hq-sum")
    picture("outcome")
    assert not Job.objects.dead().exists()


def test_filters_by_text_and_workers(log_in: LogIn, picture: Picture) -> None:
    page = log_in("ada")
    page.goto("/admin/hubqueue/job/?state=RUNNING")
    page.click("text=By tenant")
    page.fill("input[name=tenant]", "tenant-1")
    page.press("input[name=tenant]", "Enter")
    page.wait_for_url("**tenant=tenant-1**")
    assert "state=RUNNING" in page.url
    picture("tenant")
    page.goto("/admin/hubqueue/worker/")
    picture("workers")
    page.click("#result_list tbody tr:first-child th a")
    picture("worker")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 420, "height": 800})
    page.goto("/admin/")
    picture("narrow-dark")


def test_every_matching_dead_letter_is_redriven_beyond_the_page(
    log_in: LogIn, picture: Picture
) -> None:
    now = database_now("default")
    Job.objects.bulk_create(
        Job(
            kind=KIND,
            queue="default",
            state=State.DEAD,
            max_attempts=3,
            attempts=3,
            run_at=now,
            created_at=now,
            finished_at=now,
            error_code="timeout",
        )
        for _ in range(150)
    )
    page = log_in("ada")
    page.goto("/admin/hubqueue/job/?state=DEAD&code=timeout")
    page.check("#action-toggle")
    page.click("text=Select all 150 matching jobs")
    page.select_option("select[name=action]", "redrive")
    picture("all-matching")
    page.click("button[name=index]")
    assert "All 150 matching jobs" in page.inner_text("#content-main")
    page.fill("#id_reason", "the network is back")
    page.click("input[value=Redrive]")
    assert "150 done" in page.inner_text(".hq-sum")
    assert Job.objects.dead().count() == 5
