"""Archives at a real target with their rows, and targets that refuse, die or do not answer."""

from datetime import timedelta

from backups.archive.listing import State, archives
from backups.errors import ObjectKept, TargetUnreachable
from backups.models import BackupRun
from hubqueue.querysets import database_now
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import write

Run = BackupRun.State


def ago(**parts):
    return database_now("default") - timedelta(**parts)


def run(target, *, started, state=Run.SUCCEEDED, **fields):
    """A row; a closed one ended a minute after its start."""
    closed = {} if state == Run.RUNNING else {"finished_at": started + timedelta(minutes=1)}
    said = {"trigger": "schedule", "started_at": started, "state": state, **closed, **fields}
    return BackupRun.objects.create(target=target, **said)


def archive(store, schedule, *, days, **fields):
    """A whole archive of so many days ago, and the row of its run, by default verified."""
    started = ago(days=days)
    manifest = write(store, started=started)
    said = {
        "schedule": schedule,
        "archive": str(manifest.name),
        "verified_at": started,
        "id": manifest.archive,
        **fields,
    }
    return run(schedule.target, started=started, **said)


def complete(store):
    """The names of the archives that a listing of the target shows as complete."""
    return [each.name for each in archives(store) if each.state is State.COMPLETE]


def states(*runs):
    return [BackupRun.objects.get(pk=each.pk).state for each in runs]


class Keeping(Directory):
    """Does not delete the objects whose names end in one of ``kept``."""

    kept = ()

    def delete(self, name):
        if name.endswith(tuple(self.kept)):
            raise ObjectKept("a lock holds it")
        super().delete(name)


class Killed(BaseException):
    """What a process that is killed does not survive."""


class Dying(Directory):
    """Dies after ``steps`` deletions."""

    steps = 0

    def delete(self, name):
        if not self.steps:
            raise Killed
        self.steps -= 1
        super().delete(name)


class Silent(Directory):
    """Does not answer to a deletion."""

    def delete(self, name):
        raise TargetUnreachable("no answer")
