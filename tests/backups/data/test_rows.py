"""Rows leave a database and come back exactly."""

import json
from pathlib import Path

import pytest
from django.apps import apps
from django.db import transaction

from backups.archive.read import open_archive
from backups.archive.write import ArchiveWriter
from backups.data import checksum
from backups.data.export import Export
from backups.data.lines import lines
from backups.data.load import load
from backups.data.snapshot import snapshot
from backups.data.spec import Declared, Specs
from backups.data.tables import tables
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, RING, about
from tests.backups.data.databases import Pair
from tests.backups.data.values import by_column, checksums, fill


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
