"""From a request to the same rows in an empty database, by processes alone, through every kind of target."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.db import connections, transaction
from django.test import override_settings

from backups.data import checksum
from backups.data.snapshot import snapshot
from backups.data.spec import discover
from backups.data.tables import tables
from backups.keys import MasterKey
from tests.backups.data.databases import Pair, database, installed, renew
from tests.backups.data.values import fill
from tests.backups.proof.installation import (
    Installation,
    environment,
    peak_of,
    told,
)
from tests.backups.targets.conftest import KINDS, Place, Places
from tests.backups.targets.servers import serving
from tests.support.workers import WorkerTree

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "source", "copy"]),
]
OLD, NEW = MasterKey("old", bytes(range(32))), MasterKey("new", bytes(range(1, 33)))
# A million takes minutes, and is no other test.
ROWS = int(os.environ.get("PROOF_ROWS", "50000"))
MIB = 1024 * 1024
FILL = "from tests.backups.data.test_project import fill; fill()"
REGISTRATIONS = """
INSERT INTO leads_registration (id, event_id, state, active, name, email, phone, company_name, partner_id,
    sale_order_id, created_at)
SELECT gen_random_uuid(), leads_event.id, 'open', true, 'Person ' || n, md5(n::text) || '@example.org', '', '', '', '',
    now() FROM generate_series(1, %s) AS n, leads_event
"""
REFERENCES = (
    "INSERT INTO everything_person (id, name, boss_id) VALUES (1, 'a', 3), (2, 'b', 1), (3, 'c', 2)",
    "INSERT INTO everything_club VALUES ('x'), ('y')",
    "INSERT INTO everything_person_clubs (person_id, club_id) VALUES (1, 'x'), (3, 'y')",
    "INSERT INTO everything_person_friends (from_person_id, to_person_id) VALUES (1, 2), (2, 1), (3, 3)",
    "INSERT INTO everything_stamped (person_id, number) VALUES (1, 1), (1, 2)",
    "INSERT INTO everything_hen (id, came_of_id) VALUES (1, 2), (2, 1)",
    "INSERT INTO everything_egg (id, laid_by_id) VALUES (1, 1), (2, 2)",
)


@dataclass
class Stage:
    """The installation that is archived with its worker, and the name of an empty database to copy."""

    source: Installation
    worker: WorkerTree
    template: str
    volume: Path
    media: Path


@pytest.fixture(scope="module")
def places(tmp_path_factory: Any) -> Iterator[list[Place]]:
    """A server of each kind, and the directory of the local one."""
    made, found = Places(tmp_path_factory.mktemp("servers")), []
    with ExitStack() as stack:
        for kind in KINDS:
            root = tmp_path_factory.mktemp(kind) / ("bucket" if kind == "s3" else "store")
            root.mkdir()
            port = 0
            if kind != "local":
                port = stack.enter_context(serving(kind, root.parent, *made.options(kind)))
            found.append(made.place(kind, port, root))
        yield found


@pytest.fixture(scope="module", autouse=True)
def stage(
    django_db_setup: None, django_db_blocker: Any, places: list[Place], tmp_path_factory: Any
) -> Iterator[Stage]:
    volume = places[KINDS.index("local")].root.parent
    media = tmp_path_factory.mktemp("media")
    env = environment(volume, OLD.text, **project(media))
    with (
        django_db_blocker.unblock(),
        override_settings(INSTALLED_APPS=installed()),
        database("empty") as empty,
    ):
        template = empty.settings_dict["NAME"]
        made = Installation("empty", env)
        made.manage("migrate", "--run-syncdb", "--verbosity", "0")
        made.add_targets(places)
        with database("source"), database("copy"):
            renew("source", template)
            source = Installation("source", env)
            write_rows(source)
            write_files(media)
            log = tmp_path_factory.mktemp("worker") / "log"
            worker = source.worker(log, "--no-scheduler", "--queues", "backups")
            yield Stage(source, worker, template, volume, media)
            worker.kill_tree()


def project(media: Path) -> dict[str, str]:
    """With every type of column, and its files in ``media``."""
    return {
        "DJANGO_SETTINGS_MODULE": "tests.backups.proof.settings",
        "PROOF_MEDIA": str(media),
    }


def write_rows(source: Installation) -> None:
    """Every type, references of every kind, what the project's own applications write, and many rows."""
    source.manage("shell", "--no-imports", "-c", FILL)
    pair = Pair()
    fill(pair)
    with transaction.atomic(using="source"):
        for statement in REFERENCES:
            pair.execute(statement)
    pair.execute(REGISTRATIONS, [ROWS])


def write_files(media: Path) -> None:
    """Empty, of several members' chunks, twice the same, and under names of every kind."""
    noise = Random(1).randbytes(3 * MIB)
    for name, content in {"a/b.txt": b"", "é/ü 100% \U0001f600.bin": noise, "same": noise}.items():
        path = media / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        with connections["source"].cursor() as cursor:
            cursor.execute("INSERT INTO everything_everything (file) VALUES (%s)", [name])


def tree(root: Path) -> dict[str, str]:
    """The digest of every file."""
    files = (each for each in root.rglob("*") if each.is_file())
    return {str(each.relative_to(root)): sha256(each.read_bytes()).hexdigest() for each in files}


def sums(alias: str) -> dict[str, checksum.Checksum]:
    chosen = tables(discover())
    with snapshot(chosen, alias) as taken:
        return checksum.of_tables(taken.connection, chosen)


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_of_every_type_and_every_file_comes_back_through_each_kind_of_target(
    stage: Stage, kind: str, tmp_path: Path
) -> None:
    """The keys were rotated in between: the one that the archive needs is the second of the ring."""
    run = told(stage.source.manage("backups", "run", "--target", kind, "--json"))
    assert (run["state"], run["code"], run["findings"]) == ("SUCCEEDED", "", [])
    peak = max(peak_of(each.pid) for each in stage.worker.children())
    renew("copy", stage.template)
    keys = f"{NEW.text},{OLD.text}"
    copy = Installation("copy", environment(stage.volume, keys, **project(tmp_path)))
    back = told(copy.manage("backups", "restore", run["archive"], "--target", kind, "--json"))
    assert sum(back["rows"].values()) == run["rows"] > ROWS
    assert sums("copy") == sums("source")
    assert tree(tmp_path) == tree(stage.media)
    assert peak < 200 * MIB
    assert copy.peaks[-1] < 200 * MIB
