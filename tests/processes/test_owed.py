"""What is owed is paid when the database lets us, and nobody pays for the wait with an attempt."""

import psycopg
import pytest
from django.db import connection

from hubqueue.lifecycle.owed import Owed, pay
from hubqueue.lifecycle.settle import Settled, hand_back
from hubqueue.models import Failure, Job
from hubqueue.states import State
from tests.support.handlers import scripted
from tests.support.rows import claim_one

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def locker() -> psycopg.Connection[tuple[object, ...]]:
    keywords = {"host", "port", "user", "password", "dbname"}
    given = connection.get_connection_params()
    return psycopg.connect(**{key: value for key, value in given.items() if key in keywords})


def test_a_hand_back_that_meets_a_locked_table_is_owed_still_and_stays_unspent(
    locker: psycopg.Connection[tuple[object, ...]],
) -> None:
    scripted.enqueue()
    owed = Owed(claim_one(), hand_back("connection_lost"), "default")
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '300ms'")
    with locker:
        locker.execute("LOCK TABLE hubqueue_job IN ACCESS EXCLUSIVE MODE")
        assert pay(owed) == owed
    with connection.cursor() as cursor:
        cursor.execute("RESET statement_timeout")
    settled = pay(owed)
    assert isinstance(settled, Settled)
    assert (settled.state, Job.objects.get().attempts) == (State.READY, 0)
    assert list(Failure.objects.values_list("code", "spent")) == [("connection_lost", False)]
