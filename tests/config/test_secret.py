"""A laptop keeps its secrets to itself."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from backups.keys import KeyRing
from config.embedded.home import kept_directory
from config.secret import kept_backup_keys, kept_secret


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HUBQUEUE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_the_kept_secret_stays_the_same_and_only_its_owner_reads_it(home: Path) -> None:
    assert kept_secret() == kept_secret()
    assert (home / "secret-key").stat().st_mode & 0o777 == 0o600


def test_rivals_end_with_one_secret(home: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        secrets = set(pool.map(lambda _: kept_secret(), range(8)))
    assert len(secrets) == 1
    assert len(secrets.pop()) >= 50
    assert [path.name for path in home.iterdir()] == ["secret-key"]


def test_the_keys_of_backups_stay_the_same_and_only_their_owner_reads_them(home: Path) -> None:
    assert len(KeyRing.parse(kept_backup_keys()).keys) == 1
    assert kept_backup_keys() == kept_backup_keys()
    assert (home / "backup-keys").stat().st_mode & 0o777 == 0o600


def test_only_its_owner_enters_a_kept_directory(home: Path) -> None:
    assert kept_directory("backups") == kept_directory("backups") == home / "backups"
    assert (home / "backups").stat().st_mode & 0o777 == 0o700
