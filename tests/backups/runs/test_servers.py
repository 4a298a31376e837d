"""A run at a server: its secret, and how far it says it is."""

from pathlib import Path

import pytest

from backups.archive.listing import archives
from backups.models import BackupRun, BackupTarget
from backups.running import pace
from backups.services import request_run
from backups.targets.credential import keep_credential
from backups.targets.opening import open_store
from hubqueue.testing import run_due_jobs
from tests.backups.targets.conftest import Places
from tests.backups.targets.servers import SECRET, serving

pytestmark = pytest.mark.django_db(transaction=True)
State = BackupRun.State


def performed(target: BackupTarget) -> BackupRun:
    run = request_run(target, trigger="manual")
    run_due_jobs(queues=["backups"])
    run.refresh_from_db()
    return run


def test_a_server_that_refuses_the_secret_ends_the_run_and_the_right_one_makes_it(
    tmp_path: Path, volume: Path
) -> None:
    places, served = Places(tmp_path), tmp_path / "webdav"
    root = served / "store"
    root.mkdir(parents=True)
    with serving("webdav", served, *places.options("webdav")) as port:
        config = places.place("webdav", port, root).config
        shed = BackupTarget.objects.create(name="Shed", kind="webdav", config=config)
        keep_credential(shed, "another secret")
        run = performed(shed)
        assert (run.state, run.code) == (State.FAILED, "backups.target_refused")
        assert [*root.rglob("*")] == []
        keep_credential(shed, SECRET)
        run = performed(shed)
        assert (run.state, run.code) == (State.SUCCEEDED, "")
        with open_store(shed) as store:
            assert [(each.name, each.state) for each in archives(store)] == [
                (run.archive, "complete")
            ]


def test_its_share_grows_on_the_row_while_it_writes_and_is_read_back(
    cellar: BackupTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares: list[float] = []
    at = pace.Pace.at

    def watched(given: pace.Pace, share: float) -> None:
        at(given, share)
        shares.append(BackupRun.objects.get().share)

    monkeypatch.setattr(pace.Pace, "at", watched)
    monkeypatch.setattr(pace, "EVERY", 0.0)
    assert performed(cellar).share == 1
    assert shares == sorted(shares)
    assert shares[0] < 0.5
    assert 0.8 < shares[-2] <= shares[-1] <= 1
