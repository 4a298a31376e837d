"""The rows of a few pages leave as one text, and no row is told by that."""

from backups.data import checksum
from backups.data.export import Export
from backups.data.lines import lines
from backups.data.pages import AT_ONCE, pages_query
from backups.data.snapshot import Snapshot, snapshot
from backups.data.tables import Table
from backups.data.text_form import lines_query
from tests.backups.data.databases import Pair

MANY = """
INSERT INTO everything_everything (text, big) SELECT repeat(md5(n::text), 30), n FROM generate_series(1, 500) AS n
"""


def test_pages_give_the_lines_that_rows_give_and_in_their_order(pair: Pair) -> None:
    table = pair.table("Everything")
    pair.execute(MANY)
    pair.execute("DELETE FROM everything_everything WHERE big BETWEEN 100 AND 300")
    pair.execute("UPDATE everything_everything SET chars = E'\"\\n' WHERE big % 7 = 0")
    with snapshot([table], "source") as taken:
        assert pages_query(taken.connection, table) is not None
        found = list(lines(Export(taken, table)))
        assert found == by_rows(taken, table)
        assert checksum.of_lines(found) == checksum.of_table(taken.connection, table)
        assert size(pair) > 8 * AT_ONCE, "pages: some blocks have no row"
    assert len(found) == 299


def test_each_text_reads_its_own_pages_and_no_others(pair: Pair) -> None:
    pair.execute(MANY)
    with snapshot([pair.table("Everything")], "source") as taken:
        query = pages_query(taken.connection, pair.table("Everything"))
        with taken.connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {query}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Tid Range Scan on everything_everything" in plan
    assert "Seq Scan" not in plan


def test_values_that_lie_elsewhere_are_read_row_by_row(pair: Pair) -> None:
    """They have no bound: those of eight pages need not fit into one text."""
    table = pair.table("Everything")
    pair.execute(
        "INSERT INTO everything_everything (blob) SELECT sha512(n::text::bytea) FROM generate_series(1, 9) AS n"
    )
    pair.execute(
        "UPDATE everything_everything SET blob ="
        " (SELECT string_agg(sha512(n::text::bytea), '') FROM generate_series(1, 200) AS n) WHERE id % 2 = 0"
    )
    with snapshot([table], "source") as taken:
        assert pages_query(taken.connection, table) is None
        assert checksum.of_lines(lines(Export(taken, table))) == checksum.of_table(
            taken.connection, table
        )


def test_rows_of_tables_that_inherit_are_not_missed(pair: Pair) -> None:
    table = pair.table("Left")
    pair.execute("CREATE TABLE heir () INHERITS (everything_left)")
    try:
        pair.execute("INSERT INTO heir (id, amount) SELECT n, n FROM generate_series(1, 5000) AS n")
        with snapshot([table], "source") as taken:
            assert len(list(lines(Export(taken, table)))) == 5000
    finally:
        pair.execute("DROP TABLE heir")


def by_rows(taken: Snapshot, table: Table) -> list[bytes]:
    query, _ = lines_query(taken.connection, table)
    return list(lines(Export(taken, table, query=query)))


def size(pair: Pair) -> int:
    ((pages,),) = pair.execute("SELECT pg_relation_size('everything_everything') / 8192")
    return int(pages)
