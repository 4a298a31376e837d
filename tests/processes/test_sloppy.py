"""A handler that leaves its connection inside a transaction harms neither its own end nor the next job."""

import pytest

from tests.support.hub import Hub

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


CASES = [
    ("proof.sloppy_detached", "autocommit off"),
    ("proof.sloppy_detached", "atomic"),
    ("proof.sloppy_detached", "begin"),
    ("proof.sloppy", "atomic"),
]


@pytest.mark.parametrize("fail", [False, True], ids=["returns", "raises"])
@pytest.mark.parametrize(("kind", "how"), CASES)
def test_a_transaction_left_open_fails_its_attempt_and_is_closed_before_the_next_job(
    hub: Hub, kind: str, how: str, fail: bool
) -> None:
    (sloppy,) = hub.put(kind, [{"name": "sloppy", "how": how, "fail": fail}], max_attempts=1)
    hub.ready("--threads", "1")
    row = hub.reaches(sloppy, "DEAD")
    assert row["error_code"] == ("exception" if fail else "transaction_left_open")
    assert len(hub.failures(sloppy)) == 1
    names = [f"normal-{number}" for number in range(5)]
    jobs = hub.put("proof.effect", [{"name": name} for name in names])
    for job in jobs:
        assert hub.reaches(job, "SUCCEEDED")["attempts"] == 1
    assert hub.effects() == names
