"""The page of one job."""

import json
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hubqueue.admin.detail import MOST_CHARACTERS
from hubqueue.models import Failure, Operation, Worker
from hubqueue.querysets import database_now
from hubqueue.states import State
from tests.officers.conftest import MakeJob, Officer

pytestmark = pytest.mark.django_db

ATTACK = "</pre><script>alert(1)</script>"


def address(job: object) -> str:
    return f"/admin/hubqueue/job/{job.pk}/change/"  # type: ignore[attr-defined]


def test_payload_and_result_need_their_own_permission(officer: Officer, make_job: MakeJob) -> None:
    job = make_job(State.SUCCEEDED, payload={"card": "secret-4711"}, result={"to": "secret-0815"})

    hidden = officer("view_job").get(address(job)).content.decode()
    assert "secret-" not in hidden
    assert "may not see" in hidden
    shown = officer("view_job", "view_job_payload").get(address(job)).content.decode()
    assert "secret-4711" in shown
    assert "secret-0815" in shown


def test_a_hidden_payload_does_not_even_leave_the_database(
    officer: Officer, make_job: MakeJob
) -> None:
    job = make_job()
    client = officer("view_job")
    with CaptureQueriesContext(connection) as asked:
        client.get(address(job))
    assert not [each for each in asked.captured_queries if '"payload"' in each["sql"]]


def test_a_large_payload_is_cut(officer: Officer, make_job: MakeJob) -> None:
    job = make_job(payload={"text": "x" * 200_000})
    answer = officer("view_job", "view_job_payload").get(address(job))

    assert "… cut:" in answer.content.decode()
    assert len(answer.content) < MOST_CHARACTERS * 2


def test_what_applications_wrote_is_escaped(officer: Officer, make_job: MakeJob) -> None:
    job = make_job(
        State.PARKED,
        payload={ATTACK: ATTACK},
        result=[ATTACK],
        park_reason=ATTACK,
        dedupe_key=ATTACK,
        tenant_id=ATTACK,
        error_code=ATTACK,
        kind=ATTACK,
    )
    now = database_now("default")
    Failure.objects.create(
        job=job,
        attempt=1,
        code=ATTACK,
        exception=ATTACK,
        constraint=ATTACK,
        failed_at=now,
        frames=[{"file": ATTACK, "line": 1, "function": ATTACK}],
    )
    Operation.objects.create(
        verb="park", target=str(job.pk), job_id=job.pk, actor=ATTACK, reason=ATTACK, at=now
    )
    client = officer("view_job", "view_job_payload", "view_operation", "park_job", "release_job")
    for page in (address(job), address(job).replace("change", "release")):
        text = client.get(page).content.decode()
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text


def test_a_failure_is_shown_by_its_places_and_never_by_its_message(
    officer: Officer, make_job: MakeJob
) -> None:
    job = make_job(State.DEAD, error_code="unique_violation")
    Failure.objects.create(
        job=job,
        attempt=3,
        code="unique_violation",
        exception="django.db.utils.IntegrityError",
        sqlstate="23505",
        constraint="leads_lead_once",
        frames=[{"file": "leads/handlers.py", "line": 42, "function": "generate"}],
        message="Key (email)=(secret@example.org) already exists",
        failed_at=database_now("default"),
    )
    text = officer("view_job", "view_job_payload").get(address(job)).content.decode()

    for part in ("23505", "leads_lead_once", "leads/handlers.py:42", "IntegrityError"):
        assert part in text
    assert "secret@example.org" not in text


def test_progress_and_worker_of_a_running_job_are_shown(
    officer: Officer, make_job: MakeJob
) -> None:
    now = database_now("default")
    worker = Worker.objects.create(
        id=uuid4(), host="machine", pid=4711, started_at=now, lease_until=now + timedelta(minutes=1)
    )
    job = make_job(State.RUNNING, claimed_by=worker.pk, progress=0.4)
    text = officer("view_job").get(address(job)).content.decode()

    assert '<progress max="100" value="40">' in text
    assert "machine:4711" in text
    assert "What it is doing" in text


def test_reads_do_not_grow_with_history(officer: Officer, make_job: MakeJob) -> None:
    client = officer("view_job", "view_job_payload", "park_job")
    job = make_job(dedupe_key="key")

    def number() -> int:
        with CaptureQueriesContext(connection) as asked:
            client.get(address(job))
        for each in asked.captured_queries:
            assert "COUNT(*)" not in each["sql"] or "LIMIT" in each["sql"]
        return len(asked)

    before = number()
    now = database_now("default")
    for turn in range(15):
        Failure.objects.create(job=job, attempt=turn, code="refused", failed_at=now)
        Operation.objects.create(
            verb="park", target=str(job.pk), job_id=job.pk, actor="a", reason="r", at=now
        )
        make_job(priority=-1)
    assert number() <= before
    assert before <= 18


def test_the_interface_for_programs_hides_the_same(officer: Officer, make_job: MakeJob) -> None:
    job = make_job(payload={"card": "secret-4711"})
    api = f"/api/jobs/{job.pk}/"

    assert "secret-4711" not in officer("view_job").get(api).content.decode()
    shown = json.loads(officer("view_job", "view_job_payload").get(api).content)
    assert shown["payload"] == {"card": "secret-4711"}
    assert (shown["id"], shown["state"], shown["kind"]) == (str(job.pk), "READY", job.kind)
