"""Batches of rows come back as they were, of every type, and whatever they refer to."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction

from backups.data.load import LoadRefused
from backups.data.text_form import SETTINGS
from backups.errors import RestoreRefused
from backups.models import BackupRestore
from backups.restoring.batch import check_references, link, types_of, write
from backups.restoring.fitting import refuse_misfit
from backups.restoring.notes import read
from backups.restoring.reading import rows
from backups.restoring.steps import steps
from backups.restoring.work import Work
from tests.backups.data.databases import Pair
from tests.backups.data.values import by_column, fill

pytestmark = pytest.mark.slow


class Exported:
    """What an archive is to ``rows``."""

    def __init__(self, exported: Any) -> None:
        self.held = {table.label: blocks for table, blocks in exported}

    def rows(self, label: str) -> Iterator[bytes]:
        return iter(self.held[label])

    def gone(self, label: str) -> None:
        return None


def people(pair: Pair) -> None:
    table = pair.table("Person").name
    pair.execute(
        f"INSERT INTO {table} (id, name, boss_id) SELECT n, n::text, CASE WHEN n < 9 THEN n + 1 END"
        " FROM generate_series(1, 9) AS n"
    )


@pytest.fixture
def unlimited(pair: Pair) -> Iterator[None]:
    with transaction.atomic(using="copy"):
        for statement in SETTINGS:
            pair.execute(statement, of="copy")
        yield


def test_every_type_comes_back_exactly(pair: Pair):
    fill(pair)
    table = pair.table("Everything")
    archive: Any = Exported(pair.export([table]))
    with transaction.atomic(using="copy"):
        for statement in SETTINGS:
            pair.execute(statement, of="copy")
        types = types_of(pair.copy, table)
        given = list(rows(archive, table))
        write(pair.copy, table, types, given)
        assert write(pair.copy, table, types, given, if_there="overwrite") == given
    assert by_column(pair, "copy") == by_column(pair, "source")


def test_who_refers_to_what_comes_later_waits_and_then_refers_to_it(pair: Pair, unlimited: None):
    people(pair)
    table = pair.table("Person")
    found = steps(pair.tables, {each.label for each in pair.tables})
    (part,) = next(step.parts for step in found if step.parts[0].table.label == table.label)
    assert part.late == ("boss_id",)
    archive: Any = Exported(pair.export([table]))
    types = types_of(pair.copy, table)
    given = list(rows(archive, table))
    for batch in (given[:4], given[4:]):
        assert write(pair.copy, table, types, batch, late=part.late) == batch
        check_references(pair.copy, table)
    assert pair.execute(f"SELECT count(boss_id) FROM {table.name}", of="copy") == [(0,)]
    link(pair.copy, table, types, given, part.late)
    assert pair.execute(f"SELECT count(boss_id) FROM {table.name}", of="copy") == [(8,)]
    with pytest.raises(LoadRefused, match="SQLSTATE 23505"), transaction.atomic(using="copy"):
        write(pair.copy, table, types, given[:1])
    assert write(pair.copy, table, types, given[:1], if_there="skip") == []


NOTES = """
CREATE TABLE backups_backuprestore (id uuid, tenant text, state text);
CREATE TABLE backups_restorekey (restore_id uuid, label text, key text)
"""


def test_rows_with_keys_of_several_columns_are_not_taken_from_another_tenant(pair: Pair):
    table = pair.table("Stamped")
    for side, tenant in (("source", "one"), ("copy", "two")):
        pair.execute(f"INSERT INTO everything_person VALUES (1, 'a', '{tenant}')", of=side)
        pair.execute("INSERT INTO everything_stamped (person_id, number) VALUES (1, 1)", of=side)
    archive: Any = Exported(pair.export([table]))
    job: Any = SimpleNamespace(using="copy", checkpoint=lambda: None)
    restore = BackupRestore(id=uuid4(), tenant="one", mode="merge", if_there="overwrite")
    work = Work(job, restore, (archive,), tuple(pair.tables), steps(pair.tables, {table.label}))
    pair.execute(NOTES, of="copy")
    try:
        with pytest.raises(RestoreRefused, match="have the keys of rows here"):
            refuse_misfit(work)
        left = [uuid4(), "one", "FAILED"]
        pair.execute("INSERT INTO backups_backuprestore VALUES (%s, %s, %s)", left, of="copy")
        note = [left[0], table.label, '["1", "1"]']
        pair.execute("INSERT INTO backups_restorekey VALUES (%s, %s, %s)", note, of="copy")
        with pytest.raises(LoadRefused, match="that its columns cannot hold"):
            read(table, ["1", "hush"])
        refuse_misfit(work)  # a restore of this tenant's wrote it
    finally:
        pair.execute("DROP TABLE backups_backuprestore, backups_restorekey", of="copy")


def test_a_circle_that_cannot_be_null_is_one_step(pair: Pair):
    found = steps(pair.tables, {each.label for each in pair.tables})
    (circle,) = [step for step in found if step.at_once]
    assert {part.table.label for part in circle.parts} == {"everything.Hen", "everything.Egg"}
    assert all(part.late == () for part in circle.parts)
