"""A restore of the whole system that is killed leaves the database as empty as it was, or has brought all back."""

import subprocess
import sys
from functools import partial
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from backups.errors import DatabaseNotEmpty
from backups.system.precheck import refuse_filled
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY
from tests.backups.data.databases import renew
from tests.backups.runs.test_processes import seeded
from tests.backups.system.test_system import checksums, write
from tests.conftest import CHECKOUT, _url
from tests.support.wait import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
]
GROUPS = 50_000
BESIDE = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"


def size_of(name: str) -> int:
    """Bytes of the database's files, those of a transaction that is going on included."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(%s)", [name])
        return int(cursor.fetchone()[0])


def is_left(name: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(BESIDE, [name])
        return cursor.fetchone() == (0,)


def test_wherever_it_is_killed_nothing_is_there_or_all_and_the_next_one_brings_all_back(
    tools: Path, store: Directory, copy: BaseDatabaseWrapper, process_env: dict[str, str]
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO auth_group (name) SELECT 'g' || n FROM generate_series(1, %s) AS n",
            [GROUPS],
        )
    name, random = str(write(store).name), seeded()
    url = _url(connections["copy"].settings_dict)
    env = process_env | {
        "DATABASE_URL": url,
        "BACKUPS_KEYS": KEY.text,
        "BACKUPS_PG_BIN": str(tools),
    }
    database = copy.settings_dict["NAME"]

    words = f"manage.py backups restore {name} --system --directory {store.root}".split()

    def started() -> subprocess.Popen[Any]:
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=CHECKOUT,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def grown_by(size: int, process: subprocess.Popen[Any]) -> bool:
        return size_of(database) >= empty + size or process.poll() is not None

    copy.close()
    empty = size_of(database)
    for grown in (1, *random.sample(range(3_000_000), 2)):
        process = started()
        until(
            partial(grown_by, grown, process), interval=0.005, message=f"{grown} bytes of the copy"
        )
        process.send_signal(SIGKILL)
        process.communicate(timeout=30)
        assert process.returncode == -SIGKILL, grown
        until(lambda: is_left(database), message="the end of the sessions on the copy")
        if is_filled(copy):  # the commit had been sent
            refuse_difference(copy)
            renew("copy", "template0")
        copy.close()
    process = started()
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    refuse_difference(copy)


def is_filled(copy: BaseDatabaseWrapper) -> bool:
    try:
        refuse_filled(copy)
    except DatabaseNotEmpty:
        return True
    return False


def refuse_difference(copy: BaseDatabaseWrapper) -> None:
    there, here = checksums(copy), checksums(connection)
    assert there.pop("hubqueue_operation")[0] == here.pop("hubqueue_operation")[0] + 1
    assert there == here
