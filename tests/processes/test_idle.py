"""``--until-idle`` ends a worker when nothing is due or running, and not in between."""

from typing import Any

import pytest
from django.db import connection

from hubqueue.runner.sweeper import Sweeper
from tests.support.handlers import scripted
from tests.support.rows import claim_one, make_job

pytestmark = pytest.mark.django_db


def idle() -> bool:
    sweeper = Sweeper(["default"], using="default")
    sweeper.look_idle()
    return sweeper.idle


def test_a_job_that_is_claimed_in_the_middle_of_the_look_is_not_overlooked() -> None:
    make_job(kind=scripted.kind)
    claimed = []

    def claim_after(execute: Any, *given: Any) -> Any:
        answer = execute(*given)
        if not claimed:
            claimed.append(None)
            claimed[0] = claim_one()
        return answer

    with connection.execute_wrapper(claim_after):
        assert not idle()
    assert claimed[0] is not None


def test_what_is_due_or_running_is_not_idle_and_nothing_is() -> None:
    assert idle()
    make_job(kind=scripted.kind)
    assert not idle()
    claim_one()
    assert not idle()
