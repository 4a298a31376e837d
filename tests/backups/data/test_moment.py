"""An export is of one moment, whatever others do meanwhile."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import transaction

from backups.data.export import Export
from backups.data.lines import lines
from backups.data.snapshot import Snapshot, TablesLocked, snapshot
from tests.backups.data.databases import Pair
from tests.support.wait import until


def test_an_export_sees_one_moment_while_others_write(pair: Pair) -> None:
    pair.execute("INSERT INTO everything_left (amount) SELECT 100 FROM generate_series(1, 500)")
    pair.execute("INSERT INTO everything_right (amount) SELECT 100 FROM generate_series(1, 500)")
    with moving_money(pair) as moved:
        for _ in range(5):
            before = moved()
            with snapshot(pair.tables, "source") as taken:
                found = amounts(taken, pair, "Left")
                until(lambda before=before: moved() > before + 20, message="money on the move")
                found += amounts(taken, pair, "Right")
            assert found == 100_000


def amounts(taken: Snapshot, pair: Pair, model: str) -> int:
    exported = lines(Export(taken, pair.table(model)))
    return sum(int(json.loads(line)["amount"]) for line in exported)


@contextmanager
def moving_money(pair: Pair) -> Iterator[Callable[[], int]]:
    ended = threading.Event()
    moved = [0, 0]
    where = pair.source.get_connection_params()
    keys = ("dbname", "user", "password", "host", "port")
    address = {key: where[key] for key in keys if where.get(key)}

    def move(number: int, names: tuple[str, str]) -> None:
        with psycopg.connect(**address) as connection:
            while not ended.is_set():
                row = 1 + number + 2 * (moved[number] % 250)  # rows of its own: no deadlock
                for table, change in zip(names, (-7, 7), strict=True):
                    connection.execute(
                        f"UPDATE everything_{table} SET amount = amount + %s WHERE id = %s",
                        [change, row],
                    )
                connection.commit()
                moved[number] += 1

    threads = [
        threading.Thread(target=move, args=(number, names))
        for number, names in enumerate([("left", "right"), ("right", "left")])
    ]
    for thread in threads:
        thread.start()
    try:
        yield lambda: min(moved)
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def test_a_table_that_is_emptied_meanwhile_is_exported_whole(pair: Pair) -> None:
    pair.execute("INSERT INTO everything_left (amount) VALUES (1), (2)")
    with snapshot(pair.tables, "source") as taken:
        with pytest.raises(Exception, match="lock timeout"), transaction.atomic(using="source"):
            pair.execute("SET LOCAL lock_timeout = '50ms'")
            pair.execute("TRUNCATE everything_left")
        assert amounts(taken, pair, "Left") == 3


def test_a_table_that_stays_locked_is_told(pair: Pair) -> None:
    with transaction.atomic(using="source"):
        pair.execute("LOCK TABLE everything_left")
        with pytest.raises(TablesLocked, match=r"after 0\.05 s"):
            with snapshot(pair.tables, "source", lock_seconds=0.05):
                pass


def test_a_snapshot_cannot_write_and_says_where_it_stands(pair: Pair) -> None:
    with snapshot(pair.tables, "source") as taken:
        assert taken.taken_at.tzinfo is not None
        assert taken.transactions.count(":") == 2
        assert taken.migrations == {}
        with pytest.raises(Exception, match="read-only"), taken.connection.cursor() as cursor:
            cursor.execute("INSERT INTO everything_left (amount) VALUES (1)")
