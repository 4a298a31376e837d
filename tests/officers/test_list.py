"""The list of jobs: bounded reads, exact filters, and nothing of a payload."""

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from hubqueue.admin import window
from hubqueue.lifecycle.enqueue import Request, enqueue
from hubqueue.querysets import database_now
from hubqueue.states import State
from tests.officers.conftest import KIND, MakeJob, Officer

pytestmark = pytest.mark.django_db

LIST = "/admin/hubqueue/job/"
FILTERS = [
    "",
    *(f"?state={state}" for state in ("due", "scheduled", "retry", "RUNNING", "PARKED", "DEAD")),
    "?state=SUCCEEDED",
    "?state=CANCELLED",
    f"?kind={KIND}",
    "?kind=(unknown)",
    "?queue=default",
    "?tenant=t1",
    "?code=refused",
    "?state=DEAD&tenant=t1&code=refused",
    "?q=some-key",
]


def ids(client: Client, query: str = "") -> list[UUID]:
    """The jobs of a page, in its order."""
    text = client.get(LIST + query).content.decode()
    return [UUID(found) for found in re.findall(r'name="_selected_action" value="([^"]+)"', text)]


@pytest.fixture
def client(officer: Officer) -> Client:
    return officer("view_job", "park_job")


def test_newest_come_first(client: Client, make_job: MakeJob) -> None:
    jobs = [make_job() for _ in range(3)]
    assert ids(client) == [job.pk for job in reversed(jobs)]


def test_each_filter_shows_exactly_what_it_names(client: Client, make_job: MakeJob) -> None:
    later = database_now("default") + timedelta(hours=1)
    due = make_job()
    suspect = make_job(suspect=True)
    scheduled = make_job(run_at=later)
    retry = make_job(run_at=later, attempts=1)
    running = make_job(State.RUNNING)
    parked = make_job(State.PARKED, queue="mail")
    dead = make_job(State.DEAD, tenant_id="t1", error_code="refused")
    unknown = make_job(State.SUCCEEDED, kind="gone.away", tenant_id="t2")

    expected: dict[str, list[Any]] = {
        "?state=due": [suspect, due],
        "?state=scheduled": [scheduled],
        "?state=retry": [retry],
        "?state=RUNNING": [running],
        "?state=PARKED": [parked],
        "?state=DEAD": [dead],
        "?state=SUCCEEDED": [unknown],
        "?state=CANCELLED": [],
        "?kind=(unknown)": [unknown],
        "?queue=mail": [parked],
        "?tenant=t1": [dead],
        "?tenant=t": [],
        "?code=refused": [dead],
        "?state=DEAD&tenant=t2": [],
        "?state=due&queue=mail": [],
    }
    for query, jobs in expected.items():
        assert ids(client, query) == [job.pk for job in jobs], query


def test_an_alias_counts_as_its_kind(
    client: Client, make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hubqueue.registry import registry

    monkeypatch.setattr(registry.handlers[KIND], "aliases", ("sample.former",))
    former = make_job(kind="sample.former")
    assert ids(client, f"?kind={KIND}") == [former.pk]


def test_search_is_exact(client: Client, make_job: MakeJob) -> None:
    finished = make_job(State.SUCCEEDED, dedupe_key="some-key")
    standing = make_job(dedupe_key="some-key")
    make_job(dedupe_key="some-key-more")

    assert ids(client, "?q=some-key") == [standing.pk, finished.pk]
    assert ids(client, f"?q={standing.pk}") == [standing.pk]
    assert ids(client, "?q=some") == []


def test_pages_go_on_where_the_last_one_ended(client: Client, make_job: MakeJob) -> None:
    jobs = [make_job().pk for _ in range(230)][::-1]
    seen: list[UUID] = []
    query = ""
    while True:
        text = client.get(LIST + query).content.decode()
        seen += ids(client, query)
        onward = re.search(r'href="(\?before=[^"]+)">Older', text)
        if onward is None:
            break
        query = onward[1]
    assert seen == jobs


def test_a_filter_that_is_chosen_starts_at_the_top(client: Client, make_job: MakeJob) -> None:
    job = make_job()
    text = client.get(f"{LIST}?before={job.pk}&queue=default").content.decode()
    choices = re.findall(r'<li[^>]*>\s*<a href="(\?[^"]*)"', text)
    assert choices
    assert not [each for each in choices if "before=" in each]


def test_more_than_a_thousand_is_said_and_not_counted(client: Client, make_job: MakeJob) -> None:
    make_job()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO hubqueue_job (id, kind, queue, priority, payload, state, run_at, attempts,"
            " max_attempts, fence, suspect, meta, created_at) SELECT gen_random_uuid(), kind, queue,"
            " priority, payload, state, run_at, attempts, max_attempts, fence, suspect, meta,"
            " created_at FROM hubqueue_job, generate_series(1, 1100)"
        )
    text = client.get(LIST).content.decode()
    assert "more than 1000 jobs" in text
    assert "1101 jobs" not in text


def test_a_rare_row_is_found_by_looking_further_back(
    client: Client, make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "REACH", 10)
    rare = make_job(State.SUCCEEDED, tenant_id="rare")
    for _ in range(25):
        make_job(State.SUCCEEDED)
    query, steps = "?tenant=rare", 0
    while not (found := ids(client, query)):
        text = client.get(LIST + query).content.decode()
        onward = re.search(r'href="(\?[^"]+)">Look further back', text)
        assert onward is not None
        query, steps = onward[1].replace("&amp;", "&"), steps + 1
    assert found == [rare.pk]
    assert steps == 2


def test_the_standing_job_of_a_key_is_found_however_old_it_is(
    client: Client, make_job: MakeJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "REACH", 3)
    old = make_job(dedupe_key="some-key")
    for _ in range(10):
        make_job(State.SUCCEEDED)
    assert ids(client, "?q=some-key") == [old.pk]


@pytest.mark.parametrize("query", FILTERS)
def test_nothing_is_counted_without_a_bound_and_reads_do_not_grow(
    query: str, client: Client, make_job: MakeJob
) -> None:
    def asked() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(LIST + query).status_code == 200
        return [each["sql"] for each in captured.captured_queries]

    def rows(number: int) -> None:
        for state in State:
            for turn in range(number):
                make_job(state, tenant_id="t1", error_code="refused", queue="default")
                make_job(state, kind=f"gone.away{turn}", priority=turn)

    rows(1)
    few = asked()
    rows(20)
    many = asked()

    assert len(many) <= len(few) + 1  # a full page asks how many there are, up to a bound
    assert len(many) <= 10
    about_jobs = [sql for sql in many if "hubqueue_job" in sql]
    assert about_jobs
    for sql in about_jobs:
        assert "LIMIT" in sql or "= ANY (ARRAY" in sql.replace("ANY(", "ANY (")
        assert "DISTINCT" not in sql
        assert '"payload"' not in sql
        assert '"result"' not in sql


@pytest.mark.parametrize(
    "lookup",
    [
        "payload__text=hello",
        "payload__text__startswith=h",
        "result__isnull=1",
        "meta__caller=x",
        "failures__message__contains=x",
        "error_code=x",
        "id__in=x",
    ],
)
def test_lookups_by_hand_are_refused(lookup: str, client: Client, make_job: MakeJob) -> None:
    make_job()
    assert client.get(f"{LIST}?{lookup}").status_code == 400


@pytest.mark.parametrize(
    "query",
    [
        "?before=x",
        "?before=",
        "?state=x",
        "?kind=x",
        "?o=1.-2",
        "?p=3",
        "?all=",
        "?tenant=%00",
        "?q=%F0%9F%98%80",
        "?queue=%27",
        "?_facets=True",
        "?tenant=" + "x" * 500,
    ],
)
def test_odd_addresses_are_answered(query: str, client: Client, make_job: MakeJob) -> None:
    make_job()
    answer = client.get(LIST + query, follow=True)
    assert answer.status_code == 200


def test_what_applications_wrote_is_escaped(client: Client, make_job: MakeJob) -> None:
    attack = "<script>alert(1)</script>"
    make_job(
        tenant_id=attack, dedupe_key=attack, park_reason=attack, error_code=attack, kind=attack
    )
    text = (
        client.get(LIST).content.decode() + client.get(f"{LIST}?tenant={attack}").content.decode()
    )

    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


def test_no_style_or_script_stands_inline(client: Client, make_job: MakeJob) -> None:
    make_job(State.RUNNING, progress=0.4)
    answer = client.get(LIST)
    text = answer.content.decode()

    assert not re.search(r"<style|\sstyle=|\son[a-z]+=", text)
    assert not re.search(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)", text)
    assert "unsafe-inline" not in answer.headers["Content-Security-Policy"]


def test_jobs_enqueued_through_the_front_door_are_shown(client: Client) -> None:
    made = enqueue(Request(KIND, "default", "{}", 3))
    assert ids(client) == [made.id]


@pytest.mark.parametrize("query", FILTERS)
def test_every_read_of_jobs_follows_an_index(query: str, client: Client, make_job: MakeJob) -> None:
    for state in State:
        make_job(state, tenant_id="t1", error_code="refused", dedupe_key=f"some-key-{state}")
    plans: list[str] = []

    def explain(execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        if 'FROM "hubqueue_job"' in sql:
            with context["connection"].connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN {sql}", parameters)
                plans.append("\n".join(line for (line,) in cursor.fetchall()))
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(explain):
        assert client.get(LIST + query).status_code == 200
    assert plans
    for plan in plans:
        assert "Seq Scan on hubqueue_job" not in plan
