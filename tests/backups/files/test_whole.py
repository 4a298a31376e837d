"""An installation with files: archived at a server and by a worker that is killed, and back in an empty database."""

import json
from collections.abc import Iterator
from functools import partial
from io import StringIO
from pathlib import Path
from random import Random
from signal import SIGKILL
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command

from backups.data import checksum
from backups.data.snapshot import snapshot
from backups.data.spec import discover
from backups.data.tables import tables
from backups.files.give import give_files
from backups.models import BackupRun, BackupTarget
from backups.services import request_run
from backups.targets.credential import keep_credential
from hubqueue.models import Job
from tests.backups.data.databases import database
from tests.backups.data.test_project import fill
from tests.backups.files.conftest import (
    KEY,
    create,
    hang,
    made,
    opened,
    rows,
    scanned,
    storages,
    stored,
    tree,
)
from tests.backups.runs.test_processes import ended, goes_on
from tests.backups.targets.conftest import Places
from tests.backups.targets.servers import SECRET, serving
from tests.support.wait import until
from tests.support.workers import WorkerTree, send

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True, databases=["default", "copy"]),
]
LARGE = 6_000_000


@pytest.fixture(scope="module", autouse=True)
def copy(gallery: None, django_db_blocker: Any) -> Iterator[Any]:
    with django_db_blocker.unblock(), database("copy") as made:
        yield made


@pytest.fixture
def shop(cellar: BackupTarget, tmp_path: Path) -> Iterator[BackupTarget]:
    places, served = Places(tmp_path), tmp_path / "s3"
    root = served / "bucket"
    root.mkdir(parents=True)
    with serving("s3", served, *places.options("s3")) as port:
        config = places.place("s3", port, root).config
        target = BackupTarget.objects.create(name="Shop", kind="s3", config=config)
        keep_credential(target, SECRET)
        yield target


def checksums(using: str) -> dict[str, checksum.Checksum]:
    chosen = tables(discover())
    with snapshot(chosen, using) as taken:
        return checksum.of_tables(taken.connection, chosen)


def test_every_row_and_every_file_comes_back_from_s3(
    shop: BackupTarget, media: Path, tmp_path: Path, settings: Any
) -> None:
    fill()
    gone = hang(file=stored("gone.png", b"gone"))
    for number in range(5):
        content = Random(number).randbytes(number * 300_000)
        hang(file=stored(f"{number}/ä.png", content), scan=scanned(f"{number}.png", content))
    made(shop)
    gone.delete()
    (media / "gone.png").unlink()
    hang(file=stored("later.png", b"later"))
    run = made(shop, "incremental")
    assert run.media == 1
    source = tree(media, media.with_name("media-attic"))

    call_command("migrate", database="copy", verbosity=0)
    create("copy")
    settings.MEDIA_ROOT = str(tmp_path / "new" / "media")

    def restored(*options: str) -> Any:
        out = StringIO()
        call_command(
            *("backups", "restore", run.archive, "--target", "Shop", "--database", "copy"),
            *("--json", *options),
            stdout=out,
            stderr=StringIO(),
        )
        return json.loads(out.getvalue())

    stored("later.png", b"another")
    for options in (["--check"], []):
        with pytest.raises(CommandError, match="backups.file_there: File 11 of the archive"):
            restored(*options)
    assert tree(tmp_path / "new") == {"new/media/later.png": b"another"}
    assert not User.objects.using("copy").exists()
    default_storage.delete("later.png")
    assert restored()["files"] == {"names": 11, "missing": 0}
    assert checksums("copy") == checksums("default")
    back = tree(tmp_path / "new" / "media", tmp_path / "new" / "media-attic")
    assert back == source


@pytest.fixture
def worker(process_env: dict[str, str], cellar: Any, media: Path, settings: Any) -> Any:
    env = process_env | {
        "DJANGO_SETTINGS_MODULE": "tests.backups.files.gallery.settings",
        "GALLERY_MEDIA": str(media),
        "BACKUPS_VOLUME": settings.BACKUPS_VOLUME,
        "BACKUPS_KEYS": KEY.text,
    }
    arguments = ["--no-scheduler", "--queues", "backups"]
    tree = WorkerTree(arguments, env=env, log=media.with_name("worker.log"))
    yield tree
    tree.kill_tree()


def test_who_takes_over_from_a_killed_worker_keeps_the_contents_that_are_whole(
    cellar: BackupTarget, media: Path, tmp_path: Path, settings: Any, worker: WorkerTree
) -> None:
    for number in range(6):
        hang(file=stored(f"{number}.bin", Random(number).randbytes(LARGE)))
    run = request_run(cellar, trigger="manual")
    contents = tmp_path / "cellar" / run.archive / "media"

    def lying() -> dict[str, int]:
        found = [each for each in contents.rglob("*") if len(each.name) == 64]
        return {each.name: each.stat().st_ino for each in found}

    until(lambda: len(lying()) >= 2, timeout=60, interval=0.002, message="two contents")
    job = Job.objects.get(pk=run.job_id)
    for child in worker.children():
        send(child.pid, SIGKILL)
    whole = lying()
    until(partial(goes_on, job, job.fence), timeout=25, message="the next attempt")
    ended(run, worker)
    assert run.state == BackupRun.State.SUCCEEDED, worker.said()
    assert whole.items() <= lying().items()
    assert (run.media, len(lying())) == (6, 6)
    source = tree(media)
    settings.MEDIA_ROOT = str(tmp_path / "new" / "media")
    with opened(run) as chain:
        give_files(chain, storages())
    assert tree(tmp_path / "new" / "media") == source
    assert rows("Picture").count() == len(source)
