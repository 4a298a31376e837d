"""Rows leave a database and come back exactly."""

import json
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import psycopg
import pytest
from django.apps import apps
from django.db import NotSupportedError, transaction

from backups.archive.read import open_archive
from backups.archive.write import ArchiveWriter
from backups.data import checksum
from backups.data.export import BLOCK, Export
from backups.data.lines import lines
from backups.data.load import LoadRefused, load
from backups.data.snapshot import Snapshot, TablesLocked, snapshot
from backups.data.spec import Declared, Specs
from backups.data.tables import tables
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, RING, about
from tests.backups.data.databases import Pair
from tests.support.wait import until

# Text forms that PostgreSQL reads; what it keeps of them must come back.
VALUES: dict[str, list[str]] = {
    "big": ["-9223372036854775808", "9223372036854775807", "0"],
    "blob": ["", r"\x", r"\x00ff5c0a22", "\\x" + "e9" * 300_000],
    "flag": ["t", "f"],
    "chars": ["", " ", "NULL", "null", r"\N", r"\.", "a\tb\nc\rd\\e\"f'g", "\x01\x02\x7f", "ß→Ü"],
    "day": ["4713-01-01 BC", "0044-03-15 BC", "infinity", "-infinity", "5874897-12-31"],
    "moment": [
        "2026-03-29 01:59:59.999999+00",
        "0001-01-01 00:00:00+00 BC",
        "infinity",
        "-infinity",
        "294276-12-31 23:59:59.999999+00",
        "1883-11-18 12:03:57.000001-05:50:36",
    ],
    "number": ["NaN", "0", "-0.0000000001", "123456789012345678901234567890.1234567890"],
    "any_number": ["NaN", "Infinity", "-Infinity", "1.50", "1.500", "1e-300", "9" * 400],
    "duration": ["00:00:00", "-1 days +02:03:04.000001", "1 year -2 mons 3 days -04:05:06.7"],
    "mail": ["ada@example.org"],
    "file": ["a/b.txt"],
    "path": ["/a/b"],
    "float8": ["NaN", "inf", "-inf", "-0", "0.1", "1e308", "5e-324", "0.30000000000000004"],
    "float4": ["NaN", "-0", "0.1", "3.4028235e38", "1e-45", "16777217"],
    "address": ["::1", "192.0.2.1", "192.0.2.1/24", "2001:db8::/32"],
    "network": ["10.0.0.0/8", "::/0"],
    "integer": ["-2147483648", "2147483647"],
    "jsonb": [
        "null",
        '"null"',
        "1.50",
        "1e400",
        '{"a": [1, 1.0, 100000000000000000000000.10], "\\u2028": null}',
        '"\\ud83d\\ude00 \\" \\\\ \\n"',
        "[]",
    ],
    "json": ['{"b" :1,  "a":1.0,"b":2}', "1.50e+02", '"\\u0000"', "[ ]\n", '{"deep": "\\\\N"}'],
    "small": ["-32768", "32767"],
    "positive": ["9223372036854775807"],
    "slug": ["a-b_c"],
    "text": [
        "",
        "\uffff\ufffe\ufdd0\U0001ffff\U0010ffff",
        "e\u0301 \u00e9",
        "\u2028\u2029\u0085\ufeff",
        '{"json": "\\u0000"}',
        "".join(map(chr, range(1, 256))),
        "x\\" * 500_000,
        "\\.\n\\.\n",
    ],
    "time": ["00:00:00", "23:59:59.999999", "24:00:00"],
    "url": ["https://example.org/?a=%20&b='"],
    "uuid": ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "array": ["{}", '{NULL,"NULL","",a,"\\"","\\\\","x,y","{}"}', "[-1:1]={a,b,c}"],
    "nested": ["{}", "{{1,NaN},{-0,inf}}", "{{0.1},{5e-324}}"],
    "integers": ["empty", "(,)", "[1,)", "(1,5]"],
    "bigs": ["[,9223372036854775806]", "empty"],
    "decimals": ["[1.50,2.500)", "(,NaN]", "empty"],
    "moments": ["[2026-01-01 00:00+00,infinity]", '(,"2026-01-01 00:00:00.000001+00")'],
    "days": ["[2026-01-01,2026-02-01)", "(,infinity)", "[0044-03-15 BC,)"],
    "many": ["{}", "{[1,2),[5,9),[20,)}"],
    "many_moments": ["{}", "{[2026-01-01 00:00+00,2026-01-02 00:00+00)}"],
    "padded": ["", "a", "ab  ", "abcde"],
    "unpadded": ["a  ", "", "  "],
    "local": ["2026-03-29 02:30:00.000001", "infinity", "0001-01-01 00:00:00 BC"],
    "timetz": ["23:59:59.999999+14:00", "00:00:00-15:59:59"],
    "money": ["-92233720368547758.08", "0.01"],
    "bits": ["", "0", "1" * 70],
    "xml": ["", "<a b='c'>&lt;\n</a>", "text <b/> text"],
    "search": ["", "'it''s':1A,2 'a b':3"],
    "query": ["'a' & !('b c' <-> 'd')"],
    "mac": ["08:00:2b:01:02:03"],
    "place": ["(1,-0)", "(Infinity,NaN)", "(0.1,5e-324)"],
    "odd name 100%": ["%s %% 100%", ""],
}


def fill(pair: Pair) -> int:
    """A row for every value, a row of NULLs, and some in which several meet."""
    wanted = [(column, value) for column, values in VALUES.items() for value in values]
    if not knows_xml(pair):
        wanted = [(column, value) for column, value in wanted if column != "xml"]
    for column, value in wanted:
        name = '"' + column.replace("%", "%%") + '"'
        pair.execute(f"INSERT INTO everything_everything ({name}) VALUES (%s)", [value])
    pair.execute("INSERT INTO everything_everything (big) VALUES (NULL)")
    return len(wanted) + 1


def knows_xml(pair: Pair) -> bool:
    """The embedded server is built without it."""
    try:
        return bool(pair.execute("SELECT xml ''"))
    except NotSupportedError:
        return False


def by_column(pair: Pair, side: str) -> list[tuple[str, ...]]:
    """The rows as the database sends them, in binary: beside every text form."""
    names = ", ".join(f'"{column}"' for column in (*VALUES, "id", "upper"))
    sql = f"COPY (SELECT {names} FROM everything_everything ORDER BY id) TO STDOUT"
    connection = pair.source if side == "source" else pair.copy
    with connection.cursor() as cursor, cursor.copy(f"{sql} (FORMAT binary)") as copy:
        return [bytes(row) for row in copy]


def checksums(pair: Pair, side: str) -> dict[str, checksum.Checksum]:
    with snapshot(pair.tables, side) as taken:
        return checksum.of_tables(taken.connection, pair.tables)


def test_every_type_comes_back_exactly(pair: Pair) -> None:
    rows = fill(pair)
    exported = pair.export()
    assert pair.load(exported)["everything.Everything"] == rows
    assert by_column(pair, "copy") == by_column(pair, "source")
    assert checksums(pair, "copy") == checksums(pair, "source")


def test_a_line_says_what_a_row_holds_in_postgresqls_own_words(pair: Pair) -> None:
    pair.execute(
        "INSERT INTO everything_everything (any_number, float8, chars) VALUES (1.50, 0.1, 'a\"\n')"
    )
    ((_, blocks),) = pair.export([pair.table("Everything")])
    (line,) = lines(blocks)
    row = json.loads(line)
    assert row["any_number"] == "1.50"
    assert row["float8"] == "0.1"
    assert row["chars"] == 'a"\n'
    assert row["text"] is None
    assert "upper" not in row


def test_extensions_types_come_back_too(pair: Pair) -> None:
    found = pair.execute(
        "SELECT name FROM pg_available_extensions WHERE name IN ('citext', 'hstore')"
    )
    if len(found) < 2:
        pytest.skip("this PostgreSQL has no citext and hstore")
    for side in ("source", "copy"):
        pair.execute("CREATE EXTENSION citext; CREATE EXTENSION hstore", of=side)
        with (pair.source if side == "source" else pair.copy).schema_editor() as editor:
            editor.create_model(apps.get_model("everything", "Contrib"))
    pair.execute(
        "INSERT INTO everything_contrib (words, pairs) VALUES ('ÄbC', 'a=>NULL, \"\"=>\"\"'),"
        ' (\'\', \'\'), (NULL, \'"NULL"=>"NULL", "x\\""=>"\\\\"\')'
    )
    (table,) = tables(Specs({"everything.Contrib": Declared(model="everything.Contrib")}, {}))
    pair.load(pair.export([table]))
    every = "SELECT words::text, pairs::text, id FROM everything_contrib ORDER BY id"
    assert pair.execute(every, of="copy") == pair.execute(every)
    for side in ("source", "copy"):
        pair.execute("DROP TABLE everything_contrib", of=side)


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


def test_a_tenants_archive_holds_its_rows_and_the_shared_ones(pair: Pair) -> None:
    pair.execute(
        "INSERT INTO everything_person (id, name, tenant_id) VALUES"
        " (1, 'a', 'one'), (2, 'b', 'two'), (3, 'c', NULL), (4, 'd', 'o''%ne')"
    )
    pair.execute("INSERT INTO everything_club VALUES ('x')")
    pair.execute(
        "INSERT INTO everything_person_clubs (person_id, club_id) VALUES (1, 'x'), (2, 'x')"
    )
    pair.execute("INSERT INTO everything_stamped (person_id, number) VALUES (1, 1), (1, 2), (2, 1)")
    pair.execute("INSERT INTO everything_left (amount) VALUES (1)")

    def held(tenant: str) -> dict[str, int]:
        exported = pair.export(tenant=tenant)
        return {
            table.model.__name__: number
            for table, blocks in exported
            if (number := sum(block.count(b"\n") for block in blocks))
        }

    assert held("one") == {"Person": 1, "Club": 1, "Person_clubs": 1, "Stamped": 2}
    assert held("o'%ne") == {"Person": 1, "Club": 1}
    assert held("nobody") == {"Club": 1}


def test_redacted_columns_hold_the_words_of_the_spec_and_stamped_ones_are_absent(
    pair: Pair,
) -> None:
    pair.execute(
        "INSERT INTO everything_person (id, name, secret, tenant_id) VALUES"
        " (1, 'a', 'hush', 't'), (2, 'b', NULL, 't')"
    )
    pair.execute("INSERT INTO everything_stamped (person_id, number, stamp) VALUES (1, 1, 5)")
    for tenant in (None, "t"):
        exported = pair.export(tenant=tenant)
        assert b"hush" not in b"".join(block for _, blocks in exported for block in blocks)
    pair.load(exported)
    secrets = pair.execute("SELECT secret FROM everything_person ORDER BY id", of="copy")
    assert secrets == [("out % of 'it'",), (None,)]
    assert pair.execute("SELECT stamp FROM everything_stamped", of="copy") == [(7,)]


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


def test_a_checksum_is_of_the_rows_not_of_their_order(pair: Pair) -> None:
    pair.execute("INSERT INTO everything_left (id, amount) VALUES (1, 1), (2, 2)")
    pair.execute("INSERT INTO everything_left (id, amount) VALUES (2, 2), (1, 1)", of="copy")
    assert checksums(pair, "source") == checksums(pair, "copy")
    pair.execute("UPDATE everything_left SET amount = 3 - amount", of="copy")
    assert checksums(pair, "source") != checksums(pair, "copy")


def test_a_checksum_of_lines_is_that_of_their_rows(pair: Pair) -> None:
    fill(pair)
    (_, blocks), *_ = pair.export([pair.table("Everything")])
    whole = b"".join(blocks)
    cut = [whole[at : at + 999_983] for at in range(0, len(whole), 999_983)]
    table = checksums(pair, "source")["everything.Everything"]
    assert checksum.of_lines(lines(cut)) == checksum.of_lines(lines(blocks)) == table


@pytest.mark.parametrize(
    ("text", "size"), list(product([b"a\nb\n\nc", b"", b"\n", b"a"], [1, 2, 9]))
)
def test_lines_are_whole_however_blocks_are_cut(text: bytes, size: int) -> None:
    cut = [text[at : at + size] for at in range(0, len(text), size)]
    expected = text.split(b"\n")
    assert list(lines(cut)) == (expected if expected[-1] else expected[:-1])


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


def test_a_reference_that_leads_nowhere_is_refused(pair: Pair) -> None:
    with pytest.raises(LoadRefused, match="SQLSTATE 23503"):
        pair.load([(pair.table("Hen"), [b'{"id":"1","came_of_id":"7"}\n'])])


def test_only_empty_tables_are_loaded_and_only_in_a_transaction(pair: Pair) -> None:
    pair.execute("INSERT INTO everything_left (amount) VALUES (1)", of="copy")
    with pytest.raises(LoadRefused, match=r"everything\.Left must be empty"):
        pair.load(pair.export())
    with pytest.raises(LoadRefused, match="needs a transaction"):
        load(pair.copy, [])


def test_the_form_of_an_archive_carries_every_line(pair: Pair, tmp_path: Path) -> None:
    fill(pair)
    pair.execute("INSERT INTO everything_person (name) VALUES ('a')")
    store = Directory(tmp_path / "target")
    writer = ArchiveWriter(store, about(), KEY)
    with snapshot(pair.tables, "source") as taken:
        for table in pair.tables:
            writer.add_rows(table.label, Export(taken, table))
        told = checksum.of_tables(taken.connection, pair.tables)
    writer.finish()
    archive = open_archive(store, writer.name, RING)
    for table in pair.tables:
        assert checksum.of_lines(lines(archive.rows(table.label))) == told[table.label]
    with transaction.atomic(using="copy"):
        load(pair.copy, [(table, lines(archive.rows(table.label))) for table in pair.tables])
    assert checksums(pair, "copy") == told


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(pair: Pair) -> None:
    pair.execute(
        "INSERT INTO everything_everything (text, big, jsonb)"
        " SELECT repeat(md5(n::text), 8), n, jsonb_build_object('n', n)"
        " FROM generate_series(1, 200000) AS n"
    )
    table = pair.table("Everything")
    grown: list[int] = []

    def watched(exported: Export) -> Iterator[bytes]:
        begun = resident()
        for block in exported:
            grown.append(resident() - begun)
            yield block

    with snapshot([table], "source") as taken:
        exported = Export(taken, table)
        assert pair.load([(table, watched(exported))]) == {table.label: 200_000}
    assert exported.records == 200_000
    assert len(grown) * BLOCK > 100_000_000
    assert max(grown) < 8_000_000, "bytes more than at the first block"


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
