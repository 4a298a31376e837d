"""Rows load whole, with their references and sequences, or are refused without being quoted."""

from collections.abc import Iterator

import pytest
from django.db import transaction

from backups.data.load import LoadRefused, load
from tests.backups.data.databases import Pair
from tests.backups.data.values import checksums
from tests.support.wait import until


def test_circles_of_references_and_many_to_many_tables_load(pair: Pair) -> None:
    pair.execute(
        "INSERT INTO everything_person (id, name, boss_id) VALUES (1, 'a', 3), (2, 'b', 1), (3, 'c', 2)"
    )
    pair.execute("INSERT INTO everything_club VALUES ('x'), ('y')")
    pair.execute(
        "INSERT INTO everything_person_clubs (person_id, club_id) VALUES (1, 'x'), (3, 'y')"
    )
    pair.execute(
        "INSERT INTO everything_person_friends (from_person_id, to_person_id) VALUES (1, 2), (2, 1)"
    )
    with transaction.atomic(using="source"):
        pair.execute("INSERT INTO everything_hen (id, came_of_id) VALUES (1, 2), (2, 1)")
        pair.execute("INSERT INTO everything_egg (id, laid_by_id) VALUES (1, 1), (2, 2)")
    pair.load(pair.export())
    assert checksums(pair, "copy") == checksums(pair, "source")
    assert sum(one.rows for one in checksums(pair, "copy").values()) == 13


def test_sequences_go_on_after_the_last_row(pair: Pair) -> None:
    pair.execute("INSERT INTO everything_left (id, amount) VALUES (41, 1)")
    pair.load(pair.export())
    pair.execute("INSERT INTO everything_left (amount) VALUES (1)", of="copy")
    assert pair.execute("SELECT max(id) FROM everything_left", of="copy") == [(42,)]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (b'{"id":"1"}\n', "line 1: the columns are not those"),
        (b'{"id":"1","amount":"1","x":"1"}\n', "line 1: the columns are not those"),
        (b'{"id":"1","amount":"1"}\n{"id":2,"amount":"1"}\n', "line 2: no JSON object of texts"),
        (b'{"id":"1","amo', "line 1: no JSON object of texts"),
        (b'{"id":"1","amount":"hush"}\n', "SQLSTATE 22P02"),
        (b'{"id":"1","amount":"1"}\n' * 2, "SQLSTATE 23505, everything_left_pkey"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_not_quoted(
    pair: Pair, given: bytes, why: str
) -> None:
    with pytest.raises(LoadRefused, match=why) as raised:
        pair.load([(pair.table("Left"), [given])])
    assert "hush" not in str(raised.value)
    assert raised.value.__context__ is None or raised.value.__suppress_context__
    assert pair.execute("SELECT count(*) FROM everything_left", of="copy") == [(0,)]


def test_a_load_takes_as_long_as_it_takes_whatever_is_set_for_the_account(pair: Pair) -> None:
    under_way = """
        SELECT EXISTS (SELECT FROM pg_stat_activity
            WHERE query LIKE 'COPY "everything_left"%' AND clock_timestamp() - query_start > '0.1s')
    """

    def slowly() -> Iterator[bytes]:
        until(lambda: pair.execute(under_way)[0][0], message="a long COPY")
        yield b'{"id":"1","amount":"1"}\n'

    pair.execute("SET statement_timeout = '50ms'", of="copy")
    try:
        assert pair.load([(pair.table("Left"), slowly())]) == {"everything.Left": 1}
    finally:
        pair.execute("RESET statement_timeout", of="copy")


def test_a_reference_that_leads_nowhere_is_refused(pair: Pair) -> None:
    with pytest.raises(LoadRefused, match="SQLSTATE 23503"):
        pair.load([(pair.table("Hen"), [b'{"id":"1","came_of_id":"7"}\n'])])


def test_only_empty_tables_are_loaded_and_only_in_a_transaction(pair: Pair) -> None:
    pair.execute("INSERT INTO everything_left (amount) VALUES (1)", of="copy")
    with pytest.raises(LoadRefused, match=r"everything\.Left must be empty"):
        pair.load(pair.export())
    with pytest.raises(LoadRefused, match="needs a transaction"):
        load(pair.copy, [])
