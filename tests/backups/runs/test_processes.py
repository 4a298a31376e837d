"""A run in a worker of its own: back in an empty database, whatever is killed and written meanwhile."""

import json
import os
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

from backups import officers
from backups.archive.names import CHECKSUMS
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
from backups.system.restore import restore
from backups.targets.credential import keep_credential
from backups.targets.opening import open_store
from config.embedded import binaries
from hubqueue import officers as hub_officers
from hubqueue.errors import MoveRefused
from hubqueue.models import Failure, Job
from hubqueue.querysets import database_now
from leads.models import EventType
from tests.backups.data.databases import database, renew
from tests.backups.data.test_project import fill
from tests.backups.targets.conftest import Places
from tests.backups.targets.servers import SECRET, serving
from tests.support.proxy import Proxy
from tests.support.wait import until
from tests.support.workers import WorkerTree, send

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "copy"]),
]
State = BackupRun.State
COINS = 1000
ROWS = 100_000
THOROUGH = "PROOF_THOROUGH" in os.environ
BIG = 900_000  # bytes of the greatest member, packed


@pytest.fixture(scope="module", autouse=True)
def copy(django_db_setup: None, django_db_blocker: Any) -> Iterator[Any]:
    """Made before the test case, which forbids what it does not know."""
    with django_db_blocker.unblock(), database("copy") as made:
        yield made


@pytest.fixture
def worker(process_env: dict[str, str], volume: Path, settings: Any) -> Iterator[WorkerTree]:
    settings.BACKUPS_PG_BIN = str(binaries.find())
    names = ("BACKUPS_VOLUME", "BACKUPS_KEYS", "BACKUPS_PG_BIN")
    env = {name: getattr(settings, name) for name in names}
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
    renew("copy", "template0")
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


def seeded() -> Random:
    """Other points each time; a test that failed tells the seed that brings its points back."""
    seed = int(os.environ.get("PROOF_SEED", Random().getrandbits(32)))
    print("PROOF_SEED", seed)
    return Random(seed)


class Hunt:
    """Kills the worker of one run after the other, at moments that ``random`` names."""

    def __init__(self, worker: WorkerTree, volume: Path, random: Random) -> None:
        self.worker, self.volume, self.random = worker, volume, random
        self.kills = 0

    def through(self, run: BackupRun, times: int) -> BackupRun:
        """Kill its worker so often, wherever it is then; answers the run after its end."""
        directory = self.volume / "cellar" / run.archive
        job = Job.objects.get(pk=run.job_id)
        for number in range(times):
            point = self.random.choice([self.a_part, self.a_member])(directory)
            until(
                lambda point=point: point() or not is_running(run),  # type: ignore[misc]
                timeout=30,
                interval=0.002,
                message=f"point {number} of {run}, {job}",
            )
            if not is_running(run):
                break
            job.refresh_from_db()
            for child in self.worker.children():
                send(child.pid, SIGKILL)
            self.kills += 1
            until(partial(goes_on, job, job.fence), timeout=30, message="the next attempt")
        return ended(run, self.worker)

    def a_part(self, directory: Path) -> Callable[[], bool]:
        """A member that is being written has so many bytes; or all is written."""
        size = self.random.randrange(BIG)
        seen = set(directory.rglob(".part-*"))
        return lambda: (
            any(size_of(each) >= size for each in set(directory.rglob(".part-*")) - seen)
            or (directory / CHECKSUMS).exists()
        )

    def a_member(self, directory: Path) -> Callable[[], bool]:
        """So many members were written since; or all are."""
        wanted, before = self.random.randrange(1, 36), files(directory)
        return lambda: len(files(directory) - before) >= wanted or (directory / CHECKSUMS).exists()


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return -1


def files(directory: Path) -> set[int]:
    """What tells a file from the one that was there before it."""
    with suppress(FileNotFoundError):
        return {each.stat().st_ino for each in directory.rglob("*.zst")}
    return set()


@pytest.mark.timeout(400)
def test_wherever_its_worker_is_killed_a_run_ends_in_one_sound_archive_of_one_moment(
    cellar: BackupTarget, worker: WorkerTree, volume: Path
) -> None:
    """In three runs: of all rows, of what changed, and of the whole system; twenty times where there is time."""
    Group.objects.bulk_create(Group(name=f"coin {number}") for number in range(COINS))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO auth_group (name) SELECT 'row ' || md5(n::text) FROM generate_series(1, %s) n",
            [ROWS],
        )
    hunt, made = Hunt(worker, volume, seeded()), []
    with coins_on_their_way():
        for times, asked in zip(
            (7, 7, 6) if THOROUGH else (2, 2, 1),
            ({"mode": "full"}, {"mode": "incremental"}, {"content": "system"}),
            strict=True,
        ):
            run = hunt.through(request_run(cellar, trigger="schedule", **asked), times)
            codes = [*Failure.objects.filter(job_id=run.job_id).values_list("attempt", "code")]
            assert (run.state, run.promoted) == (State.SUCCEEDED, ""), (codes, worker.said())
            made.append(run)
    assert hunt.kills >= (15 if THOROUGH else 3)  # the end of an attempt may come before it is seen
    assert {each.name for each in (volume / "cellar").iterdir()} == {each.archive for each in made}
    for run in made:
        with opened(run) as archive:
            assert archive.manifest.archive == run.pk
            assert archive.manifest.started == run.started_at
            assert archive.manifest.snapshot.transactions == run.transactions
            if run.content == "rows":
                assert coins(archive) == every_coin()
            else:
                renew("copy", "template0")
                restore(archive, "copy")
    assert coins_in("copy") == every_coin()


@pytest.mark.parametrize("content", ["rows", "system"])
def test_a_cancel_of_a_run_at_work_leaves_nothing_at_the_target(
    worker: WorkerTree, tmp_path: Path, content: str
) -> None:
    """The worker hears of it when it renews its lease: a slow target gives it the time."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO auth_group (name) SELECT 'row ' || md5(n::text) FROM generate_series(1, %s) n",
            [ROWS],
        )
    places, served = Places(tmp_path), tmp_path / "webdav"
    (served / "store").mkdir(parents=True)
    with serving("webdav", served, *places.options("webdav")) as port, Proxy(port) as proxy:
        config = places.place("webdav", port, served / "store").at(proxy.port).config
        shed = BackupTarget.objects.create(name="Shed", kind="webdav", config=config)
        keep_credential(shed, SECRET)
        run = request_run(shed, trigger="manual", content=content)
        until(
            lambda: any(size_of(each) > 1000 for each in served.rglob(".part-*")),
            interval=0.002,
            message=f"a member of {run} that is being written",
        )
        proxy.delay(0.2)
        officers.cancel(run, actor="boss", reason="not now")
        until(
            lambda: Job.objects.get(pk=run.job_id).state != "RUNNING", message="the end of the job"
        )
        proxy.delay(0)
        assert ended(run, worker).state == State.CANCELLED, worker.said()
        assert Job.objects.get(pk=run.job_id).state == "CANCELLED"
        until(
            lambda: not any(each.is_file() for each in served.rglob("*")), message="an empty target"
        )


def every_coin() -> list[str]:
    return sorted(f"coin {number}" for number in range(COINS))


def coins_in(alias: str) -> list[str]:
    names = [
        *Group.objects.using(alias).values_list("name", flat=True),
        *EventType.objects.using(alias).values_list("name", flat=True),
    ]
    return sorted(name for name in names if name.startswith("coin "))
