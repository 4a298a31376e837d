"""A restore of a whole installation that is killed leaves the database as empty as it was, or has brought all back."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from signal import SIGKILL
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections

from backups.data.checksum import Checksum
from backups.data.spec import discover
from backups.data.tables import tables
from tests.backups.archive.directory import Directory
from tests.backups.data.databases import database, renew
from tests.backups.data.test_project import checksums, fill
from tests.backups.restore.test_worst_day import Machine, archived
from tests.backups.runs.test_processes import THOROUGH, seeded
from tests.backups.system.test_killed import is_left, size_of
from tests.support.wait import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "copy"]),
]
GROUPS = 60_000
KILLS = 20 if THOROUGH else 3
Sums = dict[str, Checksum]
Point = Callable[["subprocess.Popen[str]"], None]


@pytest.fixture(scope="module", autouse=True)
def template(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """The name of an empty, migrated database; ``copy`` is another one."""
    with django_db_blocker.unblock(), database("empty") as empty, database("copy"):
        call_command("migrate", database="empty", verbosity=0)
        name = empty.settings_dict["NAME"]
        empty.close()
        renew("copy", name)
        yield name


@pytest.fixture
def machine(process_env: dict[str, str], tmp_path: Path) -> Iterator[Machine]:
    with Directory(tmp_path / "target") as store:
        yield Machine(process_env, store)


@pytest.mark.timeout(300)
def test_wherever_it_is_killed_nothing_is_there_or_all_and_the_next_one_brings_all_back(
    machine: Machine, template: str
) -> None:
    """While it reads, while it writes, and before its commit; twenty times where there is time."""
    fill()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO auth_group (name) SELECT 'g' || n FROM generate_series(1, %s) AS n",
            [GROUPS],
        )
    name, random = archived(Directory(machine.root)).name, seeded()
    empty, full = sums("copy"), sums("default")
    assert empty != full
    said, grown = whole_way(machine, name)
    assert sums("copy") == full
    emptied = 0
    renew("copy", template)
    for number in range(KILLS):
        kill(machine, name, (a_size(random, grown * 4 // 5), a_line(random, said))[number % 2])
        found = sums("copy")
        assert found in (empty, full), number
        emptied += found == empty
        if found == full:  # its commit had been sent
            renew("copy", template)
    assert emptied
    whole_way(machine, name)
    assert sums("copy") == full


def whole_way(machine: Machine, name: object) -> tuple[int, int]:
    """Nobody stops it: how many lines it tells, and by how many bytes the copy grows."""
    connections["copy"].close()
    before = size_of(place())
    ended, _, err = machine.restore(name)
    assert ended == 0, err
    return err.count("\n"), size_of(place()) - before


def sums(alias: str) -> Sums:
    return checksums(tables(discover()), alias)


def place() -> str:
    """The name of the copy in the server."""
    return str(connections["copy"].settings_dict["NAME"])


def kill(machine: Machine, name: object, point: Point) -> None:
    """It dies there, or has ended before; its session has ended."""
    connections["copy"].close()
    process = machine.start(name)
    point(process)
    process.send_signal(SIGKILL)
    process.communicate(timeout=30)
    until(lambda: is_left(place()), message="the end of the sessions on the copy")


def a_line(random: Random, of: int) -> Point:
    """It has told of so many tables that it read or wrote."""
    wanted = random.randrange(1, of)

    def wait(process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        for _ in range(wanted):
            process.stderr.readline()

    return wait


def a_size(random: Random, of: int) -> Point:
    """The copy has grown by so many bytes, which are of no commit yet."""
    wanted = size_of(place()) + random.randrange(1, of)

    def wait(process: subprocess.Popen[str]) -> None:
        until(
            lambda: size_of(place()) >= wanted or process.poll() is not None,
            interval=0.002,
            message=f"{wanted} bytes of the copy",
        )

    return wait
