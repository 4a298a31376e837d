"""A target that is full, gone, slow, cut or refuses: a code, nothing half, nothing expired, and people who know."""

import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from django.contrib.auth.models import User
from django.db import connection
from moto.server import ThreadedMotoServer

from backups.archive.listing import State as Lies
from backups.archive.listing import archives
from backups.models import BackupRun, BackupSchedule, BackupTarget
from backups.running import pace
from backups.services import request_run
from backups.targets.credential import keep_credential
from backups.targets.opening import open_store
from hubqueue.models import Job
from hubqueue.testing import move_clock, run_due_jobs
from notifications.models import Notification
from tests.backups.archive.made import KEY
from tests.backups.targets.conftest import Place, Places
from tests.backups.targets.servers import USER, serving
from tests.support.proxy import Proxy

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
State = BackupRun.State
ROOM = 64 * 1024  # bytes
MANY = "INSERT INTO auth_group (name) SELECT md5(random()::text) FROM generate_series(1, 20000)"


@dataclass
class Standing:
    """A schedule that keeps one archive, which is there, and an officer who hears of everything."""

    schedule: BackupSchedule
    first: BackupRun

    @classmethod
    def at(cls, place: Place) -> "Standing":
        target = BackupTarget.objects.create(name="There", kind=place.kind, config=place.config)
        keep_credential(target, "" if place.kind == "local" else place.secret)
        nothing = dict.fromkeys(("keep_daily", "keep_weekly", "keep_monthly", "keep_yearly"), 0)
        schedule = BackupSchedule.objects.create(
            name="Nightly", target=target, rule="0 3 * * *", keep_last=1, min_keep=1, **nothing
        )
        User.objects.create_superuser("boss", email="boss@example.org")
        made = cls(schedule, BackupRun())
        made.first = made.performed(made.asked())
        assert made.first.state == State.SUCCEEDED, made.first.code
        return made

    def asked(self) -> BackupRun:
        return request_run(self.schedule.target, trigger="schedule", schedule=self.schedule)

    def performed(self, run: BackupRun) -> BackupRun:
        """After all that is due, what it queued included."""
        run_due_jobs(queues=["backups"])
        run.refresh_from_db()
        return run

    def again(self, run: BackupRun, *, hours: int = 1) -> BackupRun:
        with move_clock(timedelta(hours=hours)):
            return self.performed(run)

    def lies(self) -> dict[str, Lies]:
        with open_store(BackupTarget.objects.get(pk=self.schedule.target_id)) as store:
            return {each.name: each.state for each in archives(store)}

    def complete(self) -> list[str]:
        return [name for name, state in self.lies().items() if state is Lies.COMPLETE]

    def has_expired_nothing(self) -> bool:
        self.first.refresh_from_db()
        unmoved = (self.first.state, self.first.expiring_at) == (State.SUCCEEDED, None)
        return unmoved and Job.objects.filter(kind="backups.expire").count() == 1  # of the first

    def told(self) -> list[str]:
        return [each.category for each in Notification.objects.order_by("id")]

    def is_failed(self, run: BackupRun, code: str) -> None:
        """Its end, and what must not have followed from it."""
        assert (run.state, run.code) == (State.FAILED, code)
        assert self.complete() == [self.first.archive]
        assert self.has_expired_nothing()
        assert self.told() == ["backups.run_failed"]

    def waits(self, run: BackupRun, code: str) -> None:
        """It goes on later, and nobody need hear of it."""
        assert (run.state, run.code) == (State.RUNNING, code)
        assert self.has_expired_nothing()
        assert self.told() == []

    def succeeds_as_the_same(self, run: BackupRun) -> None:
        """The archive has the name that the run was given at first, and the plan is carried out then."""
        again = self.again(run)
        assert (again.pk, again.state, again.code) == (run.pk, State.SUCCEEDED, "")
        assert again.archive == run.archive
        assert self.lies() == {run.archive: Lies.COMPLETE}
        self.first.refresh_from_db()
        assert self.first.state == State.EXPIRED


@pytest.fixture(scope="module")
def servers(tmp_path_factory: Any) -> Places:
    return Places(tmp_path_factory.mktemp("servers"))


@pytest.fixture
def served(servers: Places, tmp_path: Path, settings: Any) -> Iterator[Callable[..., Place]]:
    """Serves a new directory until the end of the test."""
    settings.BACKUPS_VOLUME, settings.BACKUPS_KEYS = str(tmp_path), KEY.text
    settings.BACKUPS_TIMEOUT = 2.0
    with ExitStack() as stack:

        def serve(kind: str, *options: str, within: Callable[[Path], list[str]] | None = None) -> Place:  # fmt: skip
            root = tmp_path / kind / ("bucket" if kind == "s3" else "store")
            root.mkdir(parents=True, exist_ok=True)
            more = [*servers.options(kind), *options]
            command = within(root) if within else []
            port = stack.enter_context(serving(kind, root.parent, *more, within=command))
            return servers.place(kind, port, root)

        yield serve


def many_rows() -> None:
    with connection.cursor() as cursor:
        cursor.execute(MANY)


@contextmanager
def at_half(do: Callable[[], object]) -> Iterator[None]:
    """``do`` is called once, when half of a run's rows are written."""
    at, done = pace.Pace.at, []

    def watched(given: pace.Pace, share: float) -> None:
        if share >= 0.4 and not done:
            done.append(share)
            do()
        at(given, share)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pace.Pace, "at", watched)
        yield
    assert done


@pytest.mark.parametrize("kind", ["s3", "sftp", "webdav"])
def test_a_connection_that_is_cut_at_half_is_gone_on_with_as_the_same_run(
    served: Callable[..., Place], kind: str
) -> None:
    place = served(kind)
    many_rows()
    with Proxy(place.port) as proxy:
        standing = Standing.at(place.at(proxy.port))
        run = standing.asked()

        def cut() -> None:
            proxy.refuse()
            proxy.cut_all()

        with at_half(cut):
            standing.performed(run)
        standing.waits(run, "backups.target_unreachable")
        standing.again(run)  # nobody is there at all
        standing.waits(run, "backups.target_unreachable")
        proxy.refuse(False)
        assert standing.complete() == [standing.first.archive]
        with move_clock(timedelta(hours=1)):
            standing.succeeds_as_the_same(run)


@pytest.mark.parametrize("kind", ["s3", "sftp", "webdav"])
def test_a_target_that_answers_no_more_is_given_up_for_this_attempt(
    served: Callable[..., Place], kind: str
) -> None:
    place = served(kind)
    many_rows()
    with Proxy(place.port) as proxy:
        standing = Standing.at(place.at(proxy.port))
        run = standing.asked()
        with at_half(proxy.freeze):
            standing.performed(run)
        standing.waits(run, "backups.target_unreachable")
        proxy.thaw()
        standing.succeeds_as_the_same(run)


def wrong_secret(target: BackupTarget) -> None:
    keep_credential(target, "another secret")


def wrong_host_key(target: BackupTarget) -> None:
    target.config |= {"host_key": "SHA256:" + "A" * 43}
    target.save()


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        pytest.param("s3", wrong_secret, id="s3-secret"),
        pytest.param("webdav", wrong_secret, id="webdav-secret"),
        pytest.param("sftp", wrong_secret, id="sftp-secret"),
        pytest.param("sftp", wrong_host_key, id="sftp-host-key"),
    ],
)
def test_a_wrong_secret_and_a_wrong_host_key_end_the_run_at_once(
    served: Callable[..., Place], kind: str, change: Callable[[BackupTarget], None]
) -> None:
    place = served(kind)
    standing = Standing.at(place)
    target = BackupTarget.objects.get()
    change(target)
    run = standing.performed(standing.asked())
    BackupTarget.objects.filter(pk=target.pk).update(config=place.config)
    keep_credential(target, place.secret)
    standing.is_failed(run, "backups.target_refused")
    assert list(standing.lies()) == [standing.first.archive]


def test_a_directory_without_room_ends_the_run_at_once_and_nothing_of_it_lies_there(
    servers: Places, tmp_path: Path, settings: Any
) -> None:
    """The kernel refuses: no file of this process may grow beyond so much."""
    settings.BACKUPS_VOLUME, settings.BACKUPS_KEYS = str(tmp_path), KEY.text
    standing = Standing.at(servers.place("local", 0, tmp_path / "store"))
    many_rows()
    run = standing.asked()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, hard))
    try:
        standing.performed(run)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    standing.is_failed(run, "backups.target_full")
    assert [each.name for each in (tmp_path / "store").iterdir()] == [standing.first.archive]


SMALL = 'mount -t tmpfs -o size=3m tmpfs "$0" && mkdir "$1" && shift && exec "$@"'


def small_disk(root: Path) -> list[str]:
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SMALL,
            str(root.parent), str(root)]  # fmt: skip


def may_mount() -> bool:
    trial = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]  # fmt: skip
    try:
        return subprocess.run(trial, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("kind", ["s3", "sftp", "webdav"])
def test_a_server_whose_disk_is_full_gets_no_archive_until_there_is_room(
    served: Callable[..., Place], kind: str
) -> None:
    """What a server says of its full disk is its own affair; some say nothing, and have not got what they took."""
    if not may_mount():
        pytest.skip("this machine lets nobody mount a small disk")
    standing = Standing.at(served(kind, within=small_disk))
    many_rows()
    with open_store(standing.schedule.target) as store:
        filler = fill_up(store)
        run = standing.performed(standing.asked())
        assert run.state in {State.RUNNING, State.FAILED}
        assert run.code.startswith("backups.")
        assert standing.complete() == [standing.first.archive]
        assert standing.has_expired_nothing()
        assert standing.told() == (["backups.run_failed"] if run.state == State.FAILED else [])
        for name in filler:
            store.delete(name)
    if run.state == State.FAILED:
        run = standing.asked()
    standing.succeeds_as_the_same(run)


def fill_up(store: Any) -> list[str]:
    """All the room but about 200 KB is taken."""
    names = [f"filler/{number}" for number in range(60)]
    for number, name in enumerate(names):
        try:
            if store.put(name, [bytes(100_000)]) != 100_000:
                raise OSError
        except Exception:
            for each in names[number - 2 : number + 1]:
                store.delete(each)
            return names[: number - 2]
    raise AssertionError("the disk is not small")


def test_an_archive_that_a_server_keeps_stays_whole_and_goes_when_it_may(
    served: Callable[..., Place], caplog: pytest.LogCaptureFixture
) -> None:
    place, locked = served("sftp"), served("sftp", "--read-only")
    standing = Standing.at(place)
    run = standing.asked()
    run_due_jobs(kinds=["backups.run"])
    targets = BackupTarget.objects.filter(pk=standing.schedule.target_id)
    targets.update(config=locked.config)
    with caplog.at_level("WARNING", "backups"):
        standing.performed(run)
    assert "backups.object_kept" in caplog.text
    assert run.state == State.SUCCEEDED
    standing.first.refresh_from_db()
    assert (standing.first.state, standing.first.expiring_at) == (State.SUCCEEDED, None)
    assert standing.complete() == [standing.first.archive, run.archive]
    targets.update(config=place.config)
    last = standing.performed(standing.asked())
    assert standing.complete() == [last.archive]


def test_what_expires_in_a_bucket_with_object_lock_is_out_of_sight_and_still_there(
    settings: Any,
) -> None:
    """S3 puts a marker over an object that is locked: no listing has it, and nobody can take its version away."""
    settings.BACKUPS_KEYS = KEY.text
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        endpoint = "http://{}:{}".format(*server.get_host_and_port())
        owner = boto3.client(
            "s3",
            "us-east-1",
            endpoint_url=endpoint,
            aws_access_key_id=USER,
            aws_secret_access_key="x",
        )
        owner.create_bucket(Bucket="locked", ObjectLockEnabledForBucket=True)
        config = {"bucket": "locked", "access_key": USER, "endpoint": endpoint}
        standing = Standing.at(Place("s3", config, 0, Path()))
        one = {"Bucket": "locked", "Key": f"{standing.first.archive}/checksums.txt"}
        version = owner.head_object(**one)
        forever = {"Mode": "COMPLIANCE", "RetainUntilDate": datetime(2099, 1, 1, tzinfo=UTC)}
        owner.put_object_retention(**one, Retention=forever)
        run = standing.performed(standing.asked())
        assert run.state == State.SUCCEEDED
        standing.first.refresh_from_db()
        assert standing.first.state == State.EXPIRED
        assert standing.lies() == {run.archive: Lies.COMPLETE}
        with pytest.raises(ClientError, match="AccessDenied"):
            owner.delete_object(**one, VersionId=version["VersionId"])
        assert owner.get_object(**one, VersionId=version["VersionId"])["ContentLength"]
    finally:
        server.stop()
