"""Targets and schedules that owe something."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from backups.keys import MasterKey
from backups.models import BackupSchedule, BackupTarget
from backups.schedules.keep import keep

MakeSchedule = Callable[..., BackupSchedule]
HOUR = timedelta(hours=1)


@pytest.fixture
def make(db: None, tmp_path: Path, settings: Any) -> MakeSchedule:
    """A schedule of every hour with a target of its own, unless one is given."""
    settings.BACKUPS_VOLUME = str(tmp_path)
    settings.BACKUPS_KEYS = MasterKey("one", bytes(range(32))).text

    def made(name: str = "Hourly", **given: Any) -> BackupSchedule:
        target = given.pop("target", None) or BackupTarget.objects.create(
            name=f"Target of {name}", kind="local", config={"path": name.lower().replace(" ", "-")}
        )
        fields = {"tenant": "acme", "rule": "0 * * * *", **given}
        return keep(BackupSchedule(name=name, target=target, **fields))

    return made
