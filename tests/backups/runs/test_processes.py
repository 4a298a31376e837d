"""A run in a worker of its own: back in an empty database, whatever is killed and written meanwhile."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from signal import SIGKILL
from threading import Event, Thread
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import connection, transaction

from backups.archive.names import CHECKSUMS, MANIFEST
from backups.archive.read import Archive, open_archive
from backups.archive.verify import verify
from backups.conf import conf
from backups.data import checksum
from backups.data.lines import lines
from backups.data.load import load
from backups.data.snapshot import snapshot
from backups.data.spec import discover
from backups.data.tables import Table, tables
from backups.models import BackupRun, BackupTarget
from backups.services import request_run
from backups.targets.opening import open_store
from hubqueue import officers as hub_officers
from hubqueue.errors import MoveRefused
from hubqueue.models import Failure, Job
from hubqueue.querysets import database_now
from leads.models import EventType
from tests.backups.data.databases import database
from tests.backups.data.test_project import fill
from tests.support.wait import until
from tests.support.workers import WorkerTree, send

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "copy"]),
]
State = BackupRun.State
COINS = 1000
ROWS = 100_000


@pytest.fixture(scope="module", autouse=True)
def copy(django_db_setup: None, django_db_blocker: Any) -> Iterator[Any]:
    """Made before the test case, which forbids what it does not know."""
    with django_db_blocker.unblock(), database("copy") as made:
        yield made


@pytest.fixture
def worker(process_env: dict[str, str], volume: Path, settings: Any) -> Iterator[WorkerTree]:
    env = {"BACKUPS_VOLUME": settings.BACKUPS_VOLUME, "BACKUPS_KEYS": settings.BACKUPS_KEYS}
    arguments = ["--no-scheduler", "--queues", "backups"]
    tree = WorkerTree(arguments, env=process_env | env, log=volume / "worker.log")
    yield tree
    tree.kill_tree()


def ended(run: BackupRun, tree: WorkerTree) -> BackupRun:
    def has_ended() -> bool:
        assert tree.alive, tree.said()
        run.refresh_from_db()
        return run.state != State.RUNNING

    until(has_ended, timeout=60, message="the end of the run")
    return run


@contextmanager
def opened(run: BackupRun) -> Iterator[Archive]:
    with open_store(run.target) as store:
        report = verify(store, run.archive, conf().keys, encrypted=True)
        assert report.sound, report.findings
        assert report.strays == ()
        yield open_archive(store, run.archive, conf().keys, encrypted=True)


def checksums(chosen: list[Table], using: str) -> dict[str, checksum.Checksum]:
    with snapshot(chosen, using) as taken:
        return checksum.of_tables(taken.connection, chosen)


def test_what_a_worker_archived_comes_back_into_an_empty_database(
    cellar: BackupTarget, worker: WorkerTree, copy: Any
) -> None:
    fill()
    chosen = tables(discover())
    before = checksums(chosen, "default")
    run = ended(request_run(cellar, trigger="schedule"), worker)
    assert (run.state, run.code) == (State.SUCCEEDED, ""), worker.said()
    assert run.verified_at is not None
    call_command("migrate", database="copy", verbosity=0)
    with opened(run) as archive, transaction.atomic(using="copy"):
        load(copy, [(each, lines(archive.rows(each.label))) for each in chosen])
    assert checksums(chosen, "copy") == before


@contextmanager
def coins_on_their_way() -> Iterator[None]:
    """Each transaction takes a coin out of one table and puts it into another, as fast as it can."""
    over = Event()
    met: list[BaseException] = []

    def move() -> None:
        there, back = "leads_eventtype", "auth_group"
        try:
            while not over.is_set():
                there, back = back, there
                for number in range(COINS):
                    if over.is_set():
                        break
                    _move(f"coin {number}", there, back)
        except BaseException as raised:
            met.append(raised)
        finally:
            connection.close()

    thread = Thread(target=move)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert met == []


def _move(coin: str, there: str, back: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH taken AS (DELETE FROM {there} WHERE name = %s RETURNING name)"
            f" INSERT INTO {back} {COLUMNS[back]} FROM taken",
            [coin],
        )


COLUMNS = {
    "auth_group": "(name) SELECT name",
    "leads_eventtype": "(id, name) SELECT gen_random_uuid(), name",
}


def coins(archive: Archive) -> list[str]:
    found = []
    for label in ("auth.Group", "leads.EventType"):
        rows = [json.loads(line) for line in lines(archive.rows(label))]
        found += [row["name"] for row in rows if row["name"].startswith("coin ")]
    return sorted(found)


def goes_on(job: Job, fence: int) -> bool:
    """Whether the next attempt runs; one that waits after several deaths need not wait any longer."""
    job.refresh_from_db()
    if job.state == "READY" and job.run_at > database_now("default"):
        with suppress(MoveRefused):
            hub_officers.run_now(job.pk, actor="boss", reason="the test waits")
    return job.state != "READY" and job.fence > fence


def is_running(run: BackupRun) -> bool:
    return BackupRun.objects.filter(pk=run.pk, state=State.RUNNING).exists()


def test_however_often_its_worker_is_killed_the_run_ends_in_one_sound_archive_of_one_moment(
    cellar: BackupTarget, worker: WorkerTree, volume: Path
) -> None:
    Group.objects.bulk_create(Group(name=f"coin {number}") for number in range(COINS))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO auth_group (name) SELECT 'row ' || md5(n::text) FROM generate_series(1, %s) n",
            [ROWS],
        )
    random = Random()
    run = request_run(cellar, trigger="schedule")
    directory = volume / "cellar" / run.archive
    job = Job.objects.filter(pk=run.job_id)
    seen: set[Path] = set()

    def part_of(size: int) -> Callable[[], bool]:
        def grown() -> bool:
            for part in set(directory.rglob(".part-*")) - seen:
                try:
                    if part.stat().st_size >= size:
                        return True
                except FileNotFoundError:
                    pass
            return (directory / CHECKSUMS).exists()

        return grown

    points: list[Callable[[], bool]] = [
        *(part_of(random.randrange(900_000)) for _ in range(2)),
        (directory / MANIFEST).exists,
        (directory / CHECKSUMS).exists,
    ]
    kills = 0
    with coins_on_their_way():
        for point in points:
            until(
                lambda point=point: point() or not is_running(run),  # type: ignore[misc]
                timeout=25,
                interval=0.002,
                message=f"point {kills} of a run of {[*job.values()]}",
            )
            if not is_running(run):
                break
            fence = job.get().fence
            for child in worker.children():
                send(child.pid, SIGKILL)
            kills += 1
            seen |= set(directory.rglob(".part-*"))
            until(partial(goes_on, job.get(), fence), timeout=25, message="the next attempt")
        ended(run, worker)
    history = [*Failure.objects.filter(job_id=run.job_id).values_list("attempt", "spent", "code")]
    assert run.state == State.SUCCEEDED, (history, worker.said())
    assert kills >= 2  # the last two points may be over before they are seen
    assert [each.name for each in (volume / "cellar").iterdir()] == [run.archive]
    with opened(run) as archive:
        manifest = archive.manifest
        assert (manifest.archive, manifest.started) == (run.pk, run.started_at)
        assert manifest.snapshot.transactions == run.transactions
        assert coins(archive) == sorted(f"coin {number}" for number in range(COINS))
    assert EventType.objects.filter(name__startswith="coin ").count() in range(COINS + 1)
