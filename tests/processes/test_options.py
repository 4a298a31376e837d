"""What the worker was asked to do: queues and their caps, until idle, unknown kinds, probes."""

import json
import urllib.error
import urllib.request
from signal import SIGTERM
from typing import Any

import psycopg
import pytest

from tests.support.hub import PATIENT, Hub
from tests.support.postgres import free_port
from tests.support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_a_cap_of_one_holds_over_two_processes(hub: Hub) -> None:
    names = [f"backup-{number}" for number in range(4)]
    backups = hub.put("proof.long", [{"name": name} for name in names], queue="backups")
    worker = hub.ready("--processes", "2", "--threads", "4", "--queues", "default,backups=1")
    for number in range(4):
        (running,) = until(lambda: in_flight(hub), timeout=PATIENT, message="a backup")
        # Everything else has been looked at since: a later job of the other queue has come and gone.
        probes = hub.put("proof.effect", [{"name": f"probe-{number}-{each}"} for each in range(16)])
        for probe in probes:
            hub.reaches(probe, "SUCCEEDED")
        assert in_flight(hub) == [running]
        hub.let_go(f"{running}-1")
        until(lambda running=running: running not in in_flight(hub), timeout=PATIENT)  # type: ignore[misc]
    for backup in backups:
        assert hub.reaches(backup, "SUCCEEDED")["attempts"] == 1
    assert worker.alive


def in_flight(hub: Hub) -> list[str]:
    rows = hub.rows(
        "SELECT payload->>'name' AS name FROM hubqueue_job WHERE state = 'RUNNING' AND queue = 'backups'"
    )
    return [row["name"] for row in rows]


def test_a_queue_that_is_not_served_is_left_alone(hub: Hub) -> None:
    (backup,) = hub.put("proof.long", [{"name": "backup"}], queue="backups")
    (done,) = hub.put("proof.effect", [{"name": "done"}])
    hub.ready("--queues", "default")
    hub.reaches(done, "SUCCEEDED")
    row = hub.job(backup)
    assert (row["state"], row["attempts"], row["fence"]) == ("READY", 0, 0)


def test_an_unknown_kind_stays_untouched_and_holds_up_nobody(hub: Hub) -> None:
    unknown = hub.put("proof.of_tomorrow", [{"name": str(each)} for each in range(50)])
    (done,) = hub.put("proof.effect", [{"name": "done"}])
    before = [hub.job(job) for job in unknown]
    worker = hub.ready()
    hub.reaches(done, "SUCCEEDED")
    assert [hub.job(job) for job in unknown] == before
    assert worker.alive


@pytest.mark.parametrize("count", [0, 200])
def test_until_idle_ends_when_nothing_is_due_or_running(hub: Hub, count: int) -> None:
    names = [f"job-{number:03}" for number in range(count)]
    hub.put("proof.effect", [{"name": name, "seconds": 0.02} for name in names])
    (later,) = hub.put("proof.effect", [{"name": "later"}])
    hub.rows("UPDATE hubqueue_job SET run_at = run_at + interval '1 h' WHERE id = %s", [later])
    hub.put("proof.of_tomorrow", [{"name": "unknown"}])
    worker = hub.start("--until-idle", "--processes", "2")
    assert worker.ended(within=120) == 0
    assert hub.effects() == names
    assert hub.job(later)["state"] == "READY"


def test_until_idle_waits_for_suspects(hub: Hub) -> None:
    (poison,) = hub.put("proof.poison", [{"name": "poison"}], max_attempts=1)
    worker = hub.start("--until-idle")
    seen: set[str] = set()
    for _ in range(2):
        fence = hub.said_anew("poison", seen)[2]
        hub.let_go(fence)
        seen.add(fence)
    assert worker.ended(within=120) == 0
    row = hub.job(poison)
    assert (row["state"], row["error_code"]) == ("DEAD", "worker_died")


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()
    except OSError:
        return 0, ""


def test_the_worker_is_not_ready_while_the_table_of_jobs_is_locked(hub: Hub) -> None:
    port = free_port()
    brisk = {"RENEW_EVERY": 1, "RESCUE_EVERY": 1, "STATEMENT_DEADLINE": 1}
    hub.start("--metrics-port", str(port), seconds=brisk)
    until(lambda: get(port, "/readyz")[0] == 200, timeout=PATIENT, message="/readyz")
    with psycopg.connect(hub.url) as session:
        session.execute("LOCK TABLE hubqueue_job IN ACCESS EXCLUSIVE MODE")
        until(
            lambda: "jobs are not looked at" in get(port, "/readyz")[1],
            timeout=PATIENT,
            message="a word about it",
        )
        assert get(port, "/healthz")[0] == 200
    until(lambda: get(port, "/readyz")[0] == 200, timeout=PATIENT, message="/readyz")
    (done,) = hub.put("proof.effect", [{"name": "done"}])
    hub.reaches(done, "SUCCEEDED")


def test_the_worker_s_port_serves_probes_and_metrics(hub: Hub) -> None:
    port = free_port()
    worker = hub.start("--metrics-port", str(port), "--scheduler", seconds={"TICK": 1})
    until(lambda: get(port, "/healthz")[0] == 200, timeout=PATIENT, message="/healthz")
    until(lambda: get(port, "/readyz")[0] == 200, timeout=PATIENT, message="/readyz")
    code, body = get(port, "/readyz")
    ages: dict[str, Any] = json.loads(body)
    assert ages["problems"] == []
    for name in ("supervisor", "loop", "renewal", "rescue", "listen", "tick"):
        assert 0 <= ages[name] < 30, (name, ages)
    assert ages["children"] == 1
    until(lambda: json.loads(get(port, "/readyz")[1])["leading"], timeout=PATIENT)
    (done,) = hub.put("proof.effect", [{"name": "done"}])
    hub.reaches(done, "SUCCEEDED")

    def counted() -> bool:
        return any(
            line.startswith("hubqueue_") and 'kind="proof.effect"' in line and line.endswith(" 1.0")
            for line in get(port, "/metrics")[1].splitlines()
        )

    until(counted, timeout=PATIENT, message="the job in the metrics")
    assert get(port, "/nothing")[0] == 404

    (slow,) = hub.put("proof.gated_detached", [{"name": "slow"}])
    fence = hub.said("slow-1")[2]
    worker.signal(SIGTERM)
    until(lambda: get(port, "/readyz")[0] == 503, timeout=PATIENT, message="not ready")
    assert "draining" in json.loads(get(port, "/readyz")[1])["problems"]
    assert get(port, "/healthz")[0] == 200
    hub.let_go(fence)
    assert worker.ended() == 0
    assert hub.job(slow)["state"] == "SUCCEEDED"
