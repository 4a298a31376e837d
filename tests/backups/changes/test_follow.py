"""Tables have change triggers while they are declared incremental and this application is there, and not longer."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from backups.changes import follow as module
from backups.changes.follow import follow
from backups.changes.since import changed_rows, gone
from backups.changes.track import is_current, is_tracked, untrack
from backups.data.snapshot import snapshot
from backups.data.spec import Specs, discover
from backups.data.tables import Table, tables
from backups.models import Tombstone
from leads.models import Lead, Registration
from tests.backups.data.databases import database
from tests.leads.made import make_event, make_registration

TRIGGERS = """
SELECT DISTINCT relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE tgname LIKE 'backups%' ORDER BY 1
"""
LEFT = """
SELECT (SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'backups%')
    + (SELECT count(*) FROM pg_proc WHERE proname LIKE 'backups%')
    + (SELECT count(*) FROM pg_attribute WHERE attname = 'backups_xid' AND NOT attisdropped)
"""


def declared() -> list[Table]:
    return [each for each in tables(discover()) if each.declared.incremental]


def have_triggers() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(TRIGGERS)
        return [name for (name,) in cursor.fetchall()]


def lines_since(transactions: str) -> dict[str, tuple[bytes, bytes | None]]:
    chosen = declared()
    with snapshot(chosen) as taken:
        found = {}
        for table in chosen:
            keys = gone(taken, table, transactions)
            rows = b"".join(changed_rows(taken, table, transactions))
            found[table.label] = rows, None if keys is None else b"".join(keys)
    return found


def seen() -> str:
    with snapshot(declared()) as taken:
        return taken.transactions


@pytest.mark.django_db
def test_what_is_declared_incremental_has_triggers_after_migrate_and_nothing_else_has() -> None:
    assert have_triggers() == sorted(each.name for each in declared())
    assert all(is_current(connection, each) for each in declared())
    before = Tombstone.objects.count()
    follow("default")  # does nothing: no mark
    assert Tombstone.objects.count() == before


@pytest.mark.django_db
def test_what_is_not_declared_any_more_loses_them_and_what_is_again_is_marked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "discover", lambda: Specs({}, {}))
    follow("default")
    assert have_triggers() == []
    monkeypatch.undo()
    follow("default")
    assert all(is_current(connection, each) for each in declared())
    marked = Tombstone.objects.filter(key=None).values_list("table", flat=True)
    assert {each.name for each in declared()} <= set(marked)


@pytest.mark.django_db
def test_triggers_of_another_key_are_made_anew() -> None:
    table = declared()[0]
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE OR REPLACE FUNCTION backups_deleted_{table.name}() RETURNS trigger"
            " LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
        )
    assert not is_current(connection, table)
    follow("default")
    assert is_current(connection, table)


@pytest.mark.django_db
def test_triggers_that_were_switched_off_and_on_count_again_after_migrate() -> None:
    table = declared()[0]
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table.name} DISABLE TRIGGER USER")
        cursor.execute(f"ALTER TABLE {table.name} ENABLE TRIGGER USER")  # not for who replicates
    assert not is_tracked(connection, table)
    follow("default")
    assert is_current(connection, table)


@pytest.mark.django_db(transaction=True)
def test_registrations_and_leads_tell_what_changed_since() -> None:
    event = make_event()
    kept, lost = make_registration(event), make_registration(event)
    before = seen()
    told = lines_since(before)
    assert {"leads.Registration", "leads.Lead"} <= told.keys()
    assert set(told.values()) == {(b"", b"")}
    Registration.objects.filter(pk=kept.pk).update(name="Other")
    old = str(lost.pk)
    lost.delete()
    rows, keys = lines_since(before)["leads.Registration"]
    assert rows.count(b"\n") == 1
    assert str(kept.pk).encode() in rows
    assert keys == f'{{"id" : "{old}"}}\n'.encode()
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE leads_lead CASCADE")
    assert lines_since(before)[Lead._meta.label][1] is None


@pytest.mark.django_db(transaction=True)
def test_a_change_by_whoever_replicates_is_not_hidden() -> None:
    registration = make_registration(make_event())
    before = seen()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("DELETE FROM leads_registration WHERE id = %s", [registration.pk])
    assert str(registration.pk).encode() in (lines_since(before)["leads.Registration"][1] or b"")


@pytest.mark.django_db(transaction=True)
def test_deletions_are_remembered_by_a_session_that_finds_no_table_by_itself() -> None:
    """As one of pg_restore is, or of logical replication."""
    registration = make_registration(make_event())
    before = seen()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL search_path = ''")
        cursor.execute("DELETE FROM public.leads_registration WHERE id = %s", [registration.pk])
        cursor.execute("TRUNCATE public.leads_lead CASCADE")
    told = lines_since(before)
    assert str(registration.pk).encode() in (told["leads.Registration"][1] or b"")
    assert told["leads.Lead"][1] is None


@pytest.mark.django_db
def test_tables_whose_long_names_begin_alike_have_triggers_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, another = declared()[:2]
    for number, table in enumerate((one, another)):
        untrack(connection, table.name)
        name = "n" * 60 + str(number)
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {table.name} RENAME TO {name}")
        monkeypatch.setattr(table.model._meta, "db_table", name)
    follow("default")
    assert is_current(connection, one)
    untrack(connection, one.name)
    assert is_current(connection, another)


@pytest.mark.django_db
def test_a_table_in_pieces_is_whole_each_time() -> None:
    """Rows that go with a partition, or are written to one, go without a word of their table's triggers."""
    table = declared()[0]
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE piece () INHERITS ({table.name})")
    assert not is_tracked(connection, table)
    before = Tombstone.objects.count()
    follow("default")
    assert Tombstone.objects.count() == before


@pytest.fixture
def other(django_db_setup: None, django_db_blocker: Any) -> Iterator[Any]:
    with django_db_blocker.unblock(), database("copy") as made:
        yield made


@pytest.mark.slow
def test_without_its_tables_nothing_of_this_application_is_left(other: Any) -> None:
    """In a database of its own, migrated forth, back and forth again."""
    call_command("migrate", database="copy", verbosity=0)

    def left() -> int:
        with other.cursor() as cursor:
            cursor.execute(LEFT)
            return int(cursor.fetchone()[0])

    assert left() > 10
    with transaction.atomic(using="copy"):
        untrack(other, "leads_lead")
    call_command("migrate", "backups", "0005", database="copy", verbosity=0)
    assert left() == 0
    call_command("migrate", database="copy", verbosity=0)
    assert all(is_current(other, each) for each in declared())
    call_command("migrate", "leads", "zero", database="copy", verbosity=0)
    call_command("migrate", database="copy", verbosity=0)
    assert all(is_current(other, each) for each in declared())
