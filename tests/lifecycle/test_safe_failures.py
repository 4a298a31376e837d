"""What is kept of a failure can be shown to anybody: no message, no value, no payload, anywhere."""

import logging
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from prometheus_client import REGISTRY, generate_latest

from hubqueue import logs
from hubqueue.api import Dead, Done, JobContext, Result, Retry
from hubqueue.conf import conf
from hubqueue.lifecycle import failure
from hubqueue.models import Failure, Job
from hubqueue.testing import run_due_jobs
from tests.support.handlers import ABANDONED, script, scripted, scripted_detached

pytestmark = pytest.mark.django_db

SECRET = "s3cr3t-of-the-row"
TABLES = ("hubqueue_job", "hubqueue_failure", "hubqueue_operation", "hubqueue_worker")


def rows_that_quote(secret: str) -> list[str]:
    """Every table of the queue with a row that holds the text in any column."""
    found = []
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(
                f"SELECT count(*) FROM {table} AS t WHERE to_jsonb(t)::text LIKE %s",
                [f"%{secret}%"],
            )
            if cursor.fetchone()[0]:
                found.append(table)
    return found


def raises(job: JobContext) -> Result | None:
    raise ValueError(SECRET)


def raises_from(job: JobContext) -> Result | None:
    try:
        raise KeyError(SECRET)
    except KeyError as cause:
        raise RuntimeError(SECRET) from cause


def raises_unique(job: JobContext) -> Result | None:
    Group.objects.create(name=SECRET)
    Group.objects.create(name=SECRET)
    return None


def raises_code(job: JobContext) -> Result | None:
    error = RuntimeError()
    error.code = f"{SECRET} with spaces"  # type: ignore[attr-defined]
    raise error


def answers_retry(job: JobContext) -> Result | None:
    return Retry(code=f"{SECRET} with spaces")


def answers_dead(job: JobContext) -> Result | None:
    return Dead(code=f"{SECRET} with spaces")


def answers_wrong(job: JobContext) -> Any:
    return SECRET


def answers_unstorable(job: JobContext) -> Result | None:
    return Done({SECRET: {1, object()}})


def result_too_large(job: JobContext) -> Result | None:
    return Done(SECRET * 10_000)


def hook_breaks(job: JobContext) -> Result | None:
    ABANDONED[job.claimed.payload["script"]] = raises
    return Dead(code="gone")


BAD = [
    raises,
    raises_from,
    raises_unique,
    raises_code,
    answers_retry,
    answers_dead,
    answers_wrong,
    answers_unstorable,
    result_too_large,
    hook_breaks,
]


@pytest.mark.parametrize("each", [scripted, scripted_detached])
@pytest.mark.parametrize("bad", BAD)
def test_no_secret_reaches_a_row_a_log_line_or_a_metric(
    each: Any, bad: Any, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    logging.getLogger(logs.LOGGER).propagate = True
    with caplog.at_level(logging.DEBUG, logger="hubqueue"), script(bad) as name:
        each.enqueue(script=name)
        run_due_jobs()
    Group.objects.all().delete()
    assert rows_that_quote(SECRET) == []
    assert SECRET not in caplog.text
    said = capsys.readouterr()
    assert SECRET not in said.out + said.err
    assert SECRET.encode() not in generate_latest(REGISTRY)


def test_the_search_for_a_secret_finds_one_that_is_there() -> None:
    scripted.enqueue(script=SECRET)
    assert rows_that_quote(SECRET) == ["hubqueue_job"]


def test_a_failure_names_class_sqlstate_constraint_and_frames() -> None:
    with script(raises_unique) as name:
        scripted.enqueue(script=name)
        run_due_jobs()
    kept = Failure.objects.get()
    assert kept.exception == "django.db.utils.IntegrityError"
    assert (kept.code, kept.sqlstate, kept.constraint) == (
        "database_error",
        "23505",
        "auth_group_name_key",
    )
    assert kept.message == ""
    assert set(kept.frames[0]) == {"file", "line", "function"}
    assert "raises_unique" in [frame["function"] for frame in kept.frames]
    assert all(not str(frame["file"]).startswith("/") for frame in kept.frames)


@pytest.mark.parametrize("stored", [False, True])
def test_messages_are_kept_only_where_settings_ask_for_it(
    stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failure, "conf", lambda: replace(conf(), store_error_messages=stored))
    with script(raises) as name:
        scripted.enqueue(script=name)
        run_due_jobs()
    assert Failure.objects.get().message == (SECRET if stored else "")
    assert rows_that_quote(SECRET) == (["hubqueue_failure"] if stored else [])


def test_a_deep_traceback_is_cut_in_the_middle_with_a_mark() -> None:
    def dive(job: JobContext, depth: int = 300) -> Result | None:
        return raises(job) if depth == 0 else dive(job, depth - 1)

    with script(dive) as name:
        scripted.enqueue(script=name)
        run_due_jobs()
    frames = Failure.objects.get().frames
    assert len(frames) == failure.KEPT_FRAMES + 1
    assert "frames left out" in frames[15]["file"]
    assert frames[-1]["function"] == "raises"


def test_a_payload_that_no_longer_fits_is_told_by_the_name_of_the_argument_only() -> None:
    job_id = scripted.enqueue(script="x").id
    Job.objects.filter(pk=job_id).update(payload={"script": {"a": SECRET}})
    run_due_jobs()
    Job.objects.filter(pk=job_id).update(payload={})
    assert Failure.objects.get().code == "payload_refused"
    assert rows_that_quote(SECRET) == []
