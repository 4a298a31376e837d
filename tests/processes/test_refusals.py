"""What cannot work is refused at the start, in one sentence; a database that is away is waited for."""

from signal import SIGTERM
from typing import Any

import pytest

from tests.support.hub import PATIENT, Hub
from tests.support.postgres import Cluster, free_port
from tests.support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CASES: dict[str, tuple[list[str], dict[str, float], dict[str, str], list[str]]] = {
    "unknown queue": (
        ["--queues", "default,nowhere"],
        {},
        {},
        ["--queues", "'nowhere'", "default"],
    ),
    "cap of nothing": (["--queues", "default=0"], {}, {}, ["--queues", "'default=0'"]),
    "cap of a word": (["--queues", "default=many"], {}, {}, ["--queues", "'default=many'"]),
    "no process": (["--processes", "0"], {}, {}, ["--processes", "at least 1", "got 0"]),
    "negative threads": (["--threads", "-3"], {}, {}, ["--threads", "at least 1", "got -3"]),
    "negative grace": (["--grace", "-1"], {}, {}, ["--grace", "got -1"]),
    "grace that is no number": (["--grace", "nan"], {}, {}, ["--grace", "got nan"]),
    "endless grace": (["--grace", "inf"], {}, {}, ["--grace", "got inf"]),
    "port out of range": (["--metrics-port", "70000"], {}, {}, ["--metrics-port", "70000"]),
    "slow renewal": ([], {"LEASE": 30, "RENEW_EVERY": 11}, {}, ["RENEW_EVERY", "30 s", "11 s"]),
    "long timeout": ([], {"TRANSACTIONAL_TIMEOUT": 30}, {}, ["TRANSACTIONAL_TIMEOUT", "30 s"]),
    "malformed address": ([], {}, {"DATABASE_URL": "postgres//nobody"}, ["DATABASE_URL"]),
    "malformed direct address": (
        [],
        {},
        {"HUBQUEUE_DIRECT_URL": "mysql://u:secret@h/d"},
        ["HUBQUEUE_DIRECT_URL", "mysql"],
    ),
}


@pytest.mark.parametrize("case", list(CASES))
def test_what_cannot_work_is_refused_in_one_sentence(hub: Hub, case: str) -> None:
    arguments, seconds, env, words = CASES[case]
    worker = hub.start(*arguments, seconds=seconds, **env)
    assert worker.ended() not in (0, None)
    said = worker.said().splitlines()
    assert len(said) == 1, worker.said()
    for word in words:
        assert word in said[0]
    assert "secret" not in said[0]
    assert hub.rows("SELECT FROM hubqueue_worker") == []
    assert list(hub.home.glob("hubqueue-*")) == []


def test_a_port_in_use_is_refused_in_one_sentence(hub: Hub) -> None:
    port = str(free_port())
    first = hub.ready("--metrics-port", port)
    second = hub.start("--metrics-port", port)
    assert second.ended() == 1
    (said,) = second.said().splitlines()
    assert "--metrics-port" in said
    assert port in said
    assert first.alive


def test_a_database_that_is_away_at_the_start_is_waited_for(private_hub: Any) -> None:
    with Cluster() as postgres:
        hub = private_hub(postgres.url())
        postgres.stop()
        worker = hub.start("--scheduler")
        until(lambda: "does not answer" in worker.said(), timeout=PATIENT, message="a word")
        assert worker.alive
        postgres.start()
        (job,) = hub.put("proof.effect", [{"name": "done"}])
        hub.reaches(job, "SUCCEEDED")
        said = worker.said()
        assert "Traceback" not in said
        assert said.count("does not answer") == 1
        worker.signal(SIGTERM)
        assert worker.ended() == 0


def test_a_worker_ends_in_time_while_the_database_is_away(private_hub: Any) -> None:
    with Cluster() as postgres:
        hub = private_hub(postgres.url())
        worker = hub.ready("--scheduler")
        postgres.stop()
        worker.signal(SIGTERM)
        assert worker.ended(within=30) == 0


def test_on_a_schema_that_is_behind_it_claims_nothing_says_so_and_starts_by_itself(
    private_hub: Any,
) -> None:
    with Cluster() as postgres:
        hub = private_hub(postgres.url(), migrated=False)
        worker = hub.start("--scheduler")
        # The scheduler says so too, without the name.
        until(
            lambda: "lacks" in worker.said() and "hubqueue.0001_jobs" in worker.said(),
            timeout=PATIENT,
            message="a word about the schema",
        )
        hub.prepare()
        (job,) = hub.put("proof.effect", [{"name": "done"}])
        hub.reaches(job, "SUCCEEDED")
        assert "Traceback" not in worker.said()

        # A row that is missing in the ledger of migrations is enough, whatever tables there are.
        worker.signal(SIGTERM)
        assert worker.ended() == 0
        hub.rows("DELETE FROM django_migrations WHERE app = 'auth' AND name LIKE '0012%%'")
        (later,) = hub.put("proof.effect", [{"name": "later"}])
        behind = hub.start("--no-scheduler")
        until(lambda: "auth.0012" in behind.said(), timeout=PATIENT, message="a word")
        row = hub.job(later)
        assert (row["state"], row["attempts"]) == ("READY", 0)
        assert hub.rows("SELECT FROM hubqueue_worker WHERE pid = %s", [behind.pid]) == []
        hub.prepare()
        hub.reaches(later, "SUCCEEDED")
