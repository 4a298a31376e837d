"""A handler that ends its own session each time is a dead letter; what shares its commit loses nothing."""

from collections.abc import Iterator

import pytest

from hubqueue.lifecycle.losses import IN_A_ROW
from tests.support.hub import Hub

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


# At the COMMIT that the group shares.
DEADLY = """
CREATE OR REPLACE FUNCTION end_own_session() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER ends_its_session AFTER INSERT ON proof_effect DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (new.name = 'severed') EXECUTE FUNCTION end_own_session()
"""


@pytest.fixture(params=["in the handler", "at the commit"])
def where(request: pytest.FixtureRequest, hub: Hub) -> Iterator[str]:
    """Where "severed" ends its session."""
    if request.param == "at the commit":
        hub.rows(DEADLY)
    yield request.param
    hub.rows("DROP FUNCTION IF EXISTS end_own_session CASCADE")


def test_a_job_that_ends_its_session_is_a_dead_letter_and_its_group_loses_no_attempt(
    hub: Hub, where: str
) -> None:
    names = [f"good-{number}" for number in range(4)]
    severed, *good = hub.put(
        "proof.severed",
        [
            {"name": "severed", "sever": where == "in the handler"},
            *({"name": name, "sever": False} for name in names),
        ],
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
