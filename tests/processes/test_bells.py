"""What a worker hears of the bells: which queues, whenever they rang, and never one that it does not serve."""

from collections.abc import Iterator

import pytest
from django.db import connection

from hubqueue.lifecycle.ring import notify
from hubqueue.runner.doorbell import Doorbell
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def bell() -> Iterator[Doorbell]:
    made = Doorbell(["default", "mail"], "bell-test")
    assert made.tend()
    yield made
    made.close()


def heard(bell: Doorbell, count: int) -> set[str]:
    queues: set[str] = set()

    def enough() -> bool:
        queues.update(bell.rang())
        return len(queues) >= count

    until(enough)
    return queues


def test_a_bell_says_which_queue_it_rang_for_and_says_so_once(bell: Doorbell) -> None:
    notify(["elsewhere", "mail"], using="default")
    assert heard(bell, 1) == {"mail"}
    assert bell.rang() == set()
    notify(["mail", "default"], using="default")
    assert heard(bell, 2) == {"mail", "default"}


def test_a_bell_that_comes_with_the_answer_to_the_proof_of_the_connection_is_heard(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr("hubqueue.runner.doorbell.PROVE_EVERY", 0.0)
    bell = request.getfixturevalue("bell")
    notify(["mail"], using="default")
    bell.tend()
    assert heard(bell, 1) == {"mail"}
    assert bell.listening


def test_a_session_that_the_server_ended_is_noticed_and_replaced(
    bell: Doorbell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'bell-test'"
        )
        assert cursor.fetchall() == [(True,)]
    until(lambda: bell.rang() == set() and not bell.listening)
    until(bell.tend)
    notify(["default"], using="default")
    assert heard(bell, 1) == {"default"}
