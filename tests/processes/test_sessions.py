"""What a worker's session is told when it opens."""

import pytest

from hubqueue.aside import own_connection
from hubqueue.runner import sessions

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_worker_in_debug_mode_keeps_no_growing_list_of_statements() -> None:
    made = own_connection("default", "debug")
    made.force_debug_cursor = True  # as settings.DEBUG does
    try:
        made.ensure_connection()
        sessions._prepare(None, made)
        with made.cursor() as cursor:
            for _ in range(sessions.KEPT_STATEMENTS + 10):
                cursor.execute("SELECT %s", ["x" * 1000])
        assert len(made.queries_log) == sessions.KEPT_STATEMENTS
    finally:
        made.close()


def test_a_worker_s_session_reads_what_is_committed_whatever_the_role_says() -> None:
    made = own_connection("default", "isolated")
    try:
        with made.cursor() as cursor:
            cursor.execute("SET default_transaction_isolation = 'serializable'")
        sessions._prepare(None, made)
        with made.cursor() as cursor:
            cursor.execute("SHOW transaction_isolation")
            assert cursor.fetchall() == [("read committed",)]
    finally:
        made.close()
