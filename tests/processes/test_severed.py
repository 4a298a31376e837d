"""A handler that ends its own session each time is a dead letter; what shares its commit loses nothing."""

import pytest

from hubqueue.lifecycle.losses import IN_A_ROW
from tests.support.hub import Hub

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


def test_a_job_that_ends_its_session_is_a_dead_letter_and_its_group_loses_no_attempt(
    hub: Hub,
) -> None:
    names = [f"good-{number}" for number in range(4)]
    severed, *good = hub.put(
        "proof.severed",
        [{"name": "severed", "sever": True}, *({"name": name, "sever": False} for name in names)],
        max_attempts=1,
    )
    worker = hub.ready("--threads", "2")
    pids = worker.lasting()
    dead = hub.reaches(severed, "DEAD")
    assert (dead["attempts"], dead["error_code"]) == (1, "connection_lost")
    lost = [(1, False, "connection_lost")] * (IN_A_ROW - 1)
    assert hub.failures(severed) == [*lost, (1, True, "connection_lost")]
    for job in good:
        assert hub.reaches(job, "SUCCEEDED")["attempts"] == 1
        assert hub.failures(job) == []
    assert hub.effects() == names
    assert set(pids) <= set(worker.lasting())
