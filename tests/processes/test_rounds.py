"""What the supervisor does again and again waits for no statement longer than a lease can bear."""

from datetime import timedelta
from queue import SimpleQueue
from typing import Any

import pytest
from django.db import connections

from hubqueue.conf import Conf, read
from hubqueue.runner import sessions
from hubqueue.runner.heartbeat import patience
from hubqueue.runner.rounds import RETRY, Rounds
from tests.faults.load import BRISK

PAUSE = timedelta(seconds=1.5 * RETRY)
BRISK_CONF = read({name: timedelta(seconds=seconds) for name, seconds in BRISK.items()})


@pytest.mark.parametrize("conf", [Conf(), BRISK_CONF], ids=["default", "as under faults"])
def test_two_statements_that_wait_in_vain_cost_no_lease(conf: Conf) -> None:
    assert conf.renew_every * 1.1 + 2 * patience(conf) + PAUSE < conf.lease


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("asked", "said"), [(timedelta(seconds=2), "2s"), (timedelta(hours=1), "10s"), (None, "10s")]
)
def test_a_round_bounds_its_statements_by_the_shorter_deadline(
    asked: timedelta | None, said: str
) -> None:
    found: SimpleQueue[Any] = SimpleQueue()

    def step() -> None:
        connections["default"].ensure_connection()
        sessions._prepare(None, connections["default"])
        with connections["default"].cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            found.put(cursor.fetchone())

    rounds = Rounds("test", step, timedelta(hours=1), deadline=asked)
    rounds.start()
    try:
        assert found.get(timeout=30) == (said,)
    finally:
        rounds.stop()
