"""The demo's first backup: a schedule, an archive in a directory of this machine, and how it comes back."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.models import Count, Q
from django.urls import reverse

from backups.conf import conf
from backups.errors import ArchiveMissing
from backups.models import BackupRun, BackupSchedule, BackupTarget, Content
from backups.schedules.keep import keep
from backups.services import request_run
from backups.verification import request_verification
from backups.whole import whole_archives
from config.embedded.home import own_directory
from config.secret import BACKUP_KEYS
from hubqueue.models import Job

TARGET = "Demo: this machine"
SCHEDULE = "Demo: every day"
RULE = "FREQ=DAILY"  # at the time of day at which the demo was first started
PATH = "demo"
ELSEWHERE = "/tmp/hubqueue-restored"  # noqa: S108 - a proposal to a person; the database refuses a stranger's


def directory() -> Path | None:
    """Where the demo's archives lie, or None where there can be none: without a volume, or without a key."""
    if not conf().backups_volume or not conf().keys.keys:
        return None
    return Path(conf().backups_volume) / PATH


def runs_by_state() -> dict[str, int]:
    """Counts of runs, whoever started them."""
    counted = BackupRun.objects.values("state").annotate(number=Count("id")).order_by("state")
    return dict(counted.values_list("state", "number"))


class FirstBackup:
    """A run and the verification of its archive. Started again it is the run of the first time, if that is sound.

    Raises ``BackupError`` when there is none and none can be started.
    """

    def __init__(self) -> None:
        self._verification: UUID | None = None
        with transaction.atomic():
            target = _target()
            self._schedule = _schedule(target)
            self._run = _standing(target) or request_run(
                target,
                trigger=BackupRun.Trigger.API,
                schedule=self._schedule,
                asked_by="demo",
            )

    def follow(self) -> bool:
        """Ask for the verification once the archive is there. True until both have ended: call it again then."""
        try:
            return self._follow()
        except DatabaseError:  # an outage ends no demo: its worker waits for the database too
            connection.close()
            return True

    def lines(self, address: str) -> Iterator[str]:
        """What became of it; where it is, where officers see it at ``address``, and how it is restored."""
        run = self._run
        run.refresh_from_db()
        if run.state != BackupRun.State.SUCCEEDED:
            yield f"Backup: {run.get_state_display()}" + (f" ({run.code})." if run.code else ".")
            return
        found = f"not sound ({', '.join(run.findings)})" if run.findings else "sound"
        yield f"Backup: {run.rows} rows, read again: {found}."
        at = directory() or Path(PATH)
        yield f"  it is {at / run.archive}"
        page = reverse("admin:backups_backuprun_change", args=[run.pk])
        yield f"  officers see it at {address}{page}"
        page = reverse("admin:backups_generations", args=[self._schedule.pk])
        yield f"  and what its schedule keeps at {address}{page}"
        yield "  restore it, as on another machine:"
        yield f"    export DATABASE_URL= HUBQUEUE_HOME={ELSEWHERE}{_key()}"
        yield "    ./dev manage migrate"
        yield f"    ./dev manage backups restore {run.archive} --directory {shlex.quote(str(at))}"

    def faults(self) -> list[str]:
        """One line when its archive is not sound; a run that fails is among the jobs."""
        self._run.refresh_from_db()
        return [f"backup {self._run}: {code}" for code in self._run.findings]

    def _follow(self) -> bool:
        if self._verification is not None:
            return Job.objects.unfinished().filter(pk=self._verification).exists()
        self._run.refresh_from_db()
        if self._run.state == BackupRun.State.RUNNING:
            return True
        try:
            with transaction.atomic():
                self._verification = request_verification(self._run, asked_by="demo")
        except ArchiveMissing:
            return False
        return True


def _target() -> BackupTarget:
    wanted = {"kind": BackupTarget.Kind.LOCAL, "config": {"path": PATH}}
    return BackupTarget.objects.get_or_create(name=TARGET, defaults=wanted)[0]


def _schedule(target: BackupTarget) -> BackupSchedule:
    found = BackupSchedule.objects.filter(name=SCHEDULE).first()
    return found or keep(BackupSchedule(name=SCHEDULE, target=target, rule=RULE))


def _standing(target: BackupTarget) -> BackupRun | None:
    """The newest of the whole installation's rows that is going on, or whose archive is there and sound."""
    runs = BackupRun.objects.filter(target=target, content=Content.ROWS, tenant__isnull=True)
    sound = Q(pk__in=whole_archives().values("pk"), findings=[])
    return runs.filter(Q(state=BackupRun.State.RUNNING) | sound).first()


def _key() -> str:
    """The key for another machine: from the file of this checkout, unless the environment has it anyway."""
    if os.environ.get("BACKUPS_KEYS"):
        return ""
    return f' BACKUPS_KEYS="$(cat {shlex.quote(str(own_directory() / BACKUP_KEYS))})"'
