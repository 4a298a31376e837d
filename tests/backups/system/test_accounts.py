"""What the account of the database may do decides whether a run works, never what is in its archive."""

from typing import Any

import pytest
from django.db import connection

from backups.data.snapshot import RightsMissing, snapshot
from backups.data.spec import discover
from backups.data.tables import tables
from backups.models import BackupRun, BackupTarget, Content
from backups.services import request_run
from backups.system.dump import dumped
from hubqueue.testing import run_due_jobs
from tests.backups.archive.made import KEY
from tests.support.accounts import as_account, sql

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("tools")]
SETTINGS = (
    "statement_timeout = '30s'",
    "idle_in_transaction_session_timeout = '30s'",
    "lock_timeout = '30s'",
    "DateStyle = 'ISO, DMY'",
    "TimeZone = 'Asia/Kathmandu'",
    "bytea_output = 'escape'",
    "extra_float_digits = -5",
    "default_transaction_isolation = 'serializable'",
)


def nothing() -> None:
    """No reason to stop."""


def perform(content: str, settings: Any, root: Any) -> BackupRun:
    settings.BACKUPS_VOLUME, settings.BACKUPS_KEYS = str(root), KEY.text
    cellar = BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "target"})
    run = request_run(cellar, trigger="manual", content=content)
    run_due_jobs(queues=["backups"])
    run.refresh_from_db()
    return run


@pytest.mark.parametrize("right", ["ALL", "SELECT"])
@pytest.mark.parametrize("content", Content.values)
def test_a_table_that_may_not_be_read_ends_the_run_and_nothing_is_written(
    account, settings, tmp_path, content, right
):
    sql(f"REVOKE {right} ON leads_lead FROM {account}")
    with as_account(account):
        run = perform(content, settings, tmp_path)
        assert (run.state, run.code) == (BackupRun.State.FAILED, "backups.rights_missing")
        assert [each for each in tmp_path.rglob("*") if each.is_file()] == []
        with pytest.raises(RightsMissing, match='not read all of "leads_lead": grant it SELECT'):
            with snapshot(tables(discover())):
                pass


def test_a_schema_that_may_not_be_used_ends_the_run(account, settings, tmp_path):
    sql("CREATE SCHEMA closed", "CREATE TABLE closed.door AS SELECT 1 AS x")
    try:
        with as_account(account):
            run = perform(Content.SYSTEM, settings, tmp_path)
        assert (run.state, run.code) == (BackupRun.State.FAILED, "backups.rights_missing")
    finally:
        sql("DROP SCHEMA closed CASCADE")


@pytest.mark.parametrize("content", Content.values)
def test_rows_that_a_policy_hides_end_the_run(account, settings, tmp_path, content):
    sql("ALTER TABLE leads_lead ENABLE ROW LEVEL SECURITY")
    try:
        with as_account(account):
            run = perform(content, settings, tmp_path)
        assert (run.state, run.code) == (BackupRun.State.FAILED, "backups.rights_missing")
    finally:
        sql("ALTER TABLE leads_lead DISABLE ROW LEVEL SECURITY")


@pytest.mark.parametrize("content", Content.values)
def test_what_is_set_for_the_account_changes_nothing(account, settings, tmp_path, content):
    sql(*(f"ALTER ROLE {account} SET {each}" for each in SETTINGS))
    with as_account(account):
        run = perform(content, settings, tmp_path)
        with snapshot(()) as taken, taken.connection.cursor() as cursor:
            for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
                cursor.execute(f"SHOW {name}")
                assert cursor.fetchone() == ("0",)
    assert (run.state, run.code) == (BackupRun.State.SUCCEEDED, "")


def test_a_dump_holds_the_tables_of_every_schema_and_leaves_foreign_ones_alone():
    sql(
        'CREATE SCHEMA "else where"',
        'CREATE TABLE "else where"."a ""table""" AS SELECT 1 AS x',
        "CREATE FOREIGN DATA WRAPPER far",
        "CREATE SERVER away FOREIGN DATA WRAPPER far",
        "CREATE FOREIGN TABLE distant (x integer) SERVER away",
    )
    try:
        with dumped("default", nothing) as dump:
            with pytest.raises(Exception, match="lock timeout"):
                sql("SET lock_timeout = '20ms'", 'TRUNCATE "else where"."a ""table"""')
            content = b"".join(dump.pieces)
        assert b'CREATE TABLE "else where"."a ""table"""' in content
        assert b"CREATE FOREIGN TABLE public.distant" in content
    finally:
        connection.close()
        sql('DROP SCHEMA "else where" CASCADE', "DROP FOREIGN DATA WRAPPER far CASCADE")
