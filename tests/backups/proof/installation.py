"""An installation as its people have it: a database, an environment, and processes of ``manage.py``."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import Any

from django.db import connections

from tests.backups.targets.conftest import Place
from tests.conftest import CHECKOUT, _url
from tests.support.workers import WorkerTree

MAKE_TARGETS = """
import json, sys
from backups.models import BackupTarget
from backups.targets.credential import keep_credential
for name, kind, config, secret in json.load(sys.stdin):
    keep_credential(BackupTarget.objects.create(name=name, kind=kind, config=config), secret)
"""

# manage.py, which tells its peak in kB when it ends. What wait4() tells of a child is no less than this process has.
MANAGE = """
import atexit, os, runpy, sys

def tell():
    with open("/proc/self/status") as status, open(os.environ["PROOF_PEAK"], "w") as peak:
        peak.write(next(line.split()[1] for line in status if line.startswith("VmHWM:")))

atexit.register(tell)
sys.argv[0] = "manage.py"
runpy.run_path("manage.py", run_name="__main__")
"""


@dataclass(frozen=True)
class Installation:
    """One on the database that Django knows by ``alias`` here, with ``env`` beside.

    ``peaks``: the most memory of each of its commands, in bytes.
    """

    alias: str
    env: dict[str, str]
    peaks: list[int] = field(default_factory=list)

    def manage(self, *arguments: str, given: str = "") -> str:
        """What the command says. Fails the test with what it says of an error. Its peak is the last of ``peaks``."""
        with (
            TemporaryFile("w+") as asked,
            TemporaryFile("w+") as out,
            TemporaryFile("w+") as err,
            NamedTemporaryFile("r") as peak,
        ):
            asked.write(given)
            asked.seek(0)
            process = subprocess.Popen(
                [sys.executable, "-c", MANAGE, *arguments],
                cwd=CHECKOUT,
                env=self.environment | {"PROOF_PEAK": peak.name},
                stdin=asked,
                stdout=out,
                stderr=err,
            )
            status = process.wait()
            for said in (out, err):
                said.seek(0)
            assert status == 0, err.read()
            self.peaks.append(int(peak.read()) * 1024)
            return out.read()

    def add_targets(self, places: Iterable[Place]) -> None:
        """A target of each place, named after its kind."""
        rows = [(each.kind, each.kind, each.config, each.secret) for each in places]
        self.manage("shell", "--no-imports", "-c", MAKE_TARGETS, given=json.dumps(rows))

    def worker(self, log: Path, *arguments: str) -> WorkerTree:
        """It serves every queue and schedules, unless ``arguments`` say otherwise."""
        return WorkerTree([*arguments], env=self.environment, log=log)

    @property
    def environment(self) -> dict[str, str]:
        return self.env | {"DATABASE_URL": _url(connections[self.alias].settings_dict)}


def environment(volume: Path, keys: str, **more: str) -> dict[str, str]:
    """What every process of an installation is given."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings.test",
        "PYTHONPATH": str(CHECKOUT),
        "PYTHONUNBUFFERED": "1",
        "BACKUPS_VOLUME": str(volume),
        "BACKUPS_KEYS": keys,
        **more,
    }


def peak_of(pid: int) -> int:
    """The most memory that a process which is there had, in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"{pid} is gone")


def told(of: str) -> Any:
    """What a command wrote with ``--json``."""
    return json.loads(of)
