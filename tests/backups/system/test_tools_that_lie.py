"""A program that fails, or says that all went well when it did not, makes no archive; nothing expires for it."""

from pathlib import Path
from typing import Any

import pytest

from backups.archive.names import OWNER
from backups.models import BackupRun, BackupTarget
from backups.services import request_run
from hubqueue.testing import run_due_jobs
from tests.backups.archive.made import KEY

pytestmark = pytest.mark.django_db(transaction=True)
# What it does in the place of the dump; `real` is that which pg_dump would have written.
LIES = {
    "a megabyte, then an error": "head -c 1000000 /dev/zero; exit 1",
    "an error after all": '"$real" "$@"; exit 1',
    "nothing, and all is well": "exit 0",
    "words, and all is well": "echo pg_dump: all is well; exit 0",
    "half of it, and all is well": '"$real" "$@" > "$0.out"; head -c $(($(stat -c %s "$0.out") / 2)) "$0.out"; exit 0',
    "all but its end, and all is well": '"$real" "$@" > "$0.out"; head -c -9 "$0.out"; exit 0',
}


@pytest.fixture
def lie(tools: Path, tmp_path: Path, settings: Any) -> Any:
    def make(body: str) -> None:
        there = tmp_path / "bin"
        there.mkdir()
        for name in ("pg_restore", "psql"):
            (there / name).symlink_to(tools / name)
        program = there / "pg_dump"
        asked = 'case "$1" in --version) exec "$real" --version;; esac'
        program.write_text(f"#!/bin/sh\nreal={tools}/pg_dump\n{asked}\n{body}\n")
        program.chmod(0o755)
        settings.BACKUPS_PG_BIN = str(there)

    return make


@pytest.mark.parametrize("how", LIES)
def test_what_is_no_whole_dump_makes_no_archive(lie, settings, tmp_path, how):
    lie(LIES[how])
    settings.BACKUPS_VOLUME, settings.BACKUPS_KEYS = str(tmp_path), KEY.text
    cellar = BackupTarget.objects.create(name="Cellar", kind="local", config={"path": "target"})
    run = request_run(cellar, trigger="manual", content="system")
    run_due_jobs(queues=["backups"])
    run.refresh_from_db()
    assert (run.state, run.code) == (BackupRun.State.RUNNING, "backups.tool_failed")
    lying = {each.name for each in (tmp_path / "target").rglob("*") if each.is_file()}
    assert lying <= {OWNER}
