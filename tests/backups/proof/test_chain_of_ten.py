"""Ten archives, one on the other, made by runs: the last one brings back every row as it is."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from backups.data.spec import discover
from backups.data.tables import tables
from backups.models import BackupRun, BackupTarget
from backups.services import request_run
from hubqueue.testing import move_clock, run_due_jobs
from leads.models import Event, Lead, Registration
from tests.backups.data.databases import database
from tests.backups.data.test_project import checksums, fill
from tests.leads.made import make_event, make_registration, walk_until_done

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "copy"]),
]
SLOW = timedelta(minutes=-10)


@pytest.fixture(scope="module", autouse=True)
def copy(django_db_setup: None, django_db_blocker: Any) -> Iterator[Any]:
    with django_db_blocker.unblock(), database("copy") as made:
        call_command("migrate", database="copy", verbosity=0)
        yield made


@pytest.fixture
def archive(cellar: BackupTarget) -> Callable[[], BackupRun]:
    """One more archive, which goes on from the one before."""
    chain: list[BackupRun] = []

    def make() -> BackupRun:
        run = request_run(cellar, trigger="manual", mode="incremental" if chain else "full")
        run_due_jobs(queues=["backups"])
        run.refresh_from_db()
        expected = ("SUCCEEDED", "incremental", "") if chain else ("SUCCEEDED", "full", "")
        assert (run.state, run.mode, run.promoted) == expected, run.code
        assert run.parent == (chain[-1] if chain else None)
        chain.append(run)
        return run

    return make


@contextmanager
def beside() -> Iterator[BaseDatabaseWrapper]:
    """A second connection, as another process has it."""
    made = connection.copy()
    try:
        yield made
    finally:
        made.close()


def sql(statement: str, *params: object, over: Any = connection) -> None:
    with over.cursor() as cursor:
        cursor.execute(statement, params)


def change_with_a_slow_clock(event: Event) -> None:
    """As a web server does whose clock is ten minutes behind, and again when that of the database is."""
    with time_machine.travel(datetime.now(UTC) + SLOW):
        make_registration(event, name="Slow", created_at=datetime.now(UTC))
        Registration.objects.filter(name="Ä 1").update(phone="slow", created_at=datetime.now(UTC))
        User.objects.create_user("slow")
    with move_clock(SLOW):
        late = make_registration(event, name="Slower")
        Registration.objects.filter(name="Ä 2").update(name="Ö 2")
        late.delete()


def test_ten_archives_of_every_kind_of_change_bring_back_every_row(
    archive: Callable[[], BackupRun], tmp_path: Path
) -> None:
    fill()
    event, doomed = Event.objects.get(), make_event(code="doomed")
    rows = [make_registration(event) for _ in range(9)]
    for _ in range(3):
        make_registration(doomed)
    archive()

    Registration.objects.filter(pk=rows[0].pk).update(name="Updated")
    archive()
    sql("UPDATE leads_registration SET phone = phone || '!' WHERE id = %s", rows[1].pk)
    sql("DELETE FROM leads_registration WHERE id = %s", rows[2].pk)
    archive()
    doomed.delete()  # its registrations go with it
    archive()
    change_with_a_slow_clock(event)
    archive()

    with beside() as other:
        # Before the snapshot of the next two archives, and committed after both.
        other.set_autocommit(False)
        sql("UPDATE leads_registration SET name = 'Late' WHERE id = %s", rows[3].pk, over=other)
        sql("DELETE FROM leads_registration WHERE id = %s", rows[4].pk, over=other)
        sql("SAVEPOINT inner_one", over=other)
        sql("UPDATE leads_registration SET name = 'Later' WHERE id = %s", rows[5].pk, over=other)
        sql("UPDATE auth_user SET last_name = 'Late' WHERE username = 'boss'", over=other)
        sql("RELEASE SAVEPOINT inner_one", over=other)
        Registration.objects.filter(pk=rows[6].pk).update(name="Meanwhile")
        archive()
        Group.objects.all().delete()
        archive()
        other.commit()
    assert Registration.objects.filter(name__in=["Late", "Later"]).count() == 2
    archive()

    with transaction.atomic():
        Registration.objects.filter(pk=rows[7].pk).delete()
        transaction.set_rollback(True)
    sql("TRUNCATE leads_lead CASCADE")
    Registration.objects.bulk_create(
        [Registration(pk=rows[8].pk, event=event, name="Upserted")],
        update_conflicts=True,
        unique_fields=["pk"],
        update_fields=["name"],
    )
    sql("UPDATE leads_registration SET id = gen_random_uuid() WHERE id = %s", rows[7].pk)
    archive()
    walk_until_done()
    last = archive()
    assert BackupRun.objects.filter(state="SUCCEEDED").count() == 10

    out = StringIO()
    call_command(
        *("backups", "restore", last.archive, "--directory", str(tmp_path / "cellar")),
        *("--database", "copy", "--json"),
        stdout=out,
        stderr=StringIO(),
    )
    assert len(json.loads(out.getvalue())["after"]) == 9
    here, there = (checksums(tables(discover()), alias) for alias in ("default", "copy"))
    assert here == there
    assert here["leads.Lead"].rows == Lead.objects.using("copy").count()
