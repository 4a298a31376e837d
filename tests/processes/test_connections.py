"""However Django is told to keep connections, the server may end them: each job still runs once, and unspent."""

import json
from signal import SIGTERM
from typing import Any

import pytest

from tests.support.hub import PATIENT, Hub
from tests.support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

POOL = {"CONN_MAX_AGE": 0, "OPTIONS": {"pool": {"min_size": 1, "max_size": 12}}}
KEPT: dict[str, dict[str, Any]] = {
    "pool": POOL | {"CONN_HEALTH_CHECKS": False},
    "checked pool": POOL | {"CONN_HEALTH_CHECKS": True},
    "for ever": {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": False},
    "a minute, checked": {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True},
}


def end_sessions(hub: Hub) -> int:
    """The server ends every session of the workers; answers how many there were."""
    ended = hub.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name LIKE 'hubqueue-%%'"
    )
    return len(ended)


@pytest.mark.parametrize("kept", list(KEPT))
def test_sessions_that_end_under_load_cost_no_attempt(hub: Hub, kept: str) -> None:
    names = [f"job-{number:03}" for number in range(240)]
    hub.put(
        "proof.effect",
        [{"name": name, "seconds": 0.03, "hold": n % 2 == 0} for n, name in enumerate(names)],
    )
    worker = hub.ready(HUBQUEUE_TEST_DATABASE=json.dumps(KEPT[kept]))
    for share in range(5):
        until(
            lambda share=share: hub.states()["SUCCEEDED"] > share * len(names) // 6,  # type: ignore[misc]
            timeout=PATIENT,
            message="progress between two cuts",
        )
        assert end_sessions(hub) > 0
    hub.all_reach("SUCCEEDED")
    assert hub.effects() == names
    assert {row["attempts"] for row in hub.rows("SELECT attempts FROM hubqueue_job")} == {1}
    assert not hub.rows("SELECT code FROM hubqueue_failure WHERE spent")
    (later,) = hub.put("proof.effect", [{"name": "later"}])
    hub.reaches(later, "SUCCEEDED")
    assert "Traceback" not in worker.said()
    assert "job rescued" not in worker.said()
    worker.signal(SIGTERM)
    assert worker.ended() == 0
