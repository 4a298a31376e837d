"""A supervisor that is killed leaves its directory of metrics to the next one that starts, and to no other fate."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hubqueue.runner.scratch import PREFIX, Scratch

OWNER = """
from hubqueue.runner.scratch import Scratch
scratch = Scratch()
(scratch.path / "counter_1.db").write_text("x")
print(scratch.path, flush=True)
input()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


@pytest.fixture
def owner(temporary: Path) -> Iterator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=pipe, stdout=pipe, text=True
    ) as each:
        assert each.stdout is not None
        each.stdout.readline()
        yield each
        each.kill()


def found(temporary: Path) -> list[Path]:
    return sorted(temporary.glob(f"{PREFIX}*"))


def test_the_directory_of_an_owner_that_was_killed_is_swept_by_the_next(
    owner: subprocess.Popen[str], temporary: Path
) -> None:
    (left,) = found(temporary)
    owner.kill()
    owner.wait()
    mine = Scratch()
    assert found(temporary) == [mine.path]
    assert mine.path != left
    mine.close()
    mine.close()
    assert found(temporary) == []


def test_the_directory_of_a_living_owner_and_what_is_no_such_directory_stay(
    owner: subprocess.Popen[str], temporary: Path
) -> None:
    (living,) = found(temporary)
    (temporary / f"{PREFIX}of-somebody").mkdir()
    (temporary / f"{PREFIX}file").touch()
    Scratch().close()
    assert found(temporary) == sorted(
        [living, temporary / f"{PREFIX}of-somebody", temporary / f"{PREFIX}file"]
    )
    assert (living / "counter_1.db").exists()


def test_closing_twice_closes_no_descriptor_of_somebody_else(temporary: Path) -> None:
    scratch = Scratch()
    scratch.close()
    with (temporary / "mine").open("w") as mine:
        scratch.close()
        mine.write("x")
