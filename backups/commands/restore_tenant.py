"""``restore --mode``: the rows of one tenant, into the database that is in use, by a worker."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS

from backups import restores
from backups.commands import place
from backups.commands.screen import Screen
from backups.commands.watch import because, note_workers, user, watch
from backups.errors import ArchiveMissing, RestoreRefused
from backups.models import BackupRestore, BackupRun

Mode, State = BackupRestore.Mode, BackupRestore.State
NAMED = {Mode.MERGE, Mode.REPLACE}


def add(parser: ArgumentParser) -> None:
    one = parser.add_argument_group(
        "one tenant", "an archive of one tenant at --target, into the database in use, by a worker"
    )
    one.add_argument("--mode", choices=Mode.values, help="what becomes of its rows")
    one.add_argument("--tenant", help="whose rows are written; for new_tenant a name that is new")
    one.add_argument(
        "--if-there", choices=BackupRestore.IfThere.values, help="merge: a row that is there"
    )
    one.add_argument("--reason", default="manage.py backups restore", help="kept with the entry")
    one.add_argument("--actor", help="who; default: the user of the operating system")
    one.add_argument("--no-wait", action="store_true", help="do not wait for its end")


def refuse(options: dict[str, Any]) -> None:
    """Raise ``CommandError`` for options that do not go together."""
    if options["mode"] is None:
        if options["tenant"] or options["if_there"] or options["no_wait"]:
            raise CommandError("--tenant, --if-there and --no-wait belong to --mode.", returncode=2)
        return
    elsewhere = options["database"] != DEFAULT_DB_ALIAS or not options["target"]
    if elsewhere or options["system"] or options["check"]:
        raise CommandError(
            "--mode takes an archive at a --target of this installation, without --database, --system or --check"
            " (look with --mode inspect).",
            returncode=2,
        )


def run(screen: Screen, options: dict[str, Any]) -> None:
    """Ask for it and watch it to its end; an error unless it succeeded. Interrupted, it is left to the worker."""
    made = _run_of(options)
    asked = restores.start(
        made,
        mode=options["mode"],
        if_there=options["if_there"] or "",
        tenant=_new_name(made, options),
        actor=options["actor"] or user(),
        reason=options["reason"],
    )
    note_workers(screen, "restore")
    if not options["no_wait"]:
        watch(screen, asked)
    said = f"{asked.get_state_display()}  {asked}{because(asked)}"
    screen.answer(_facts(asked), [said])
    if refused := asked.report.get("refused"):
        raise CommandError(f"It could not be restored here: {refused}")
    if asked.state not in {State.RUNNING, State.SUCCEEDED}:
        raise CommandError(f"The restore is {asked.get_state_display()}{because(asked)}.")


def _run_of(options: dict[str, Any]) -> BackupRun:
    target = place.named(options["target"])
    found = BackupRun.objects.filter(target=target, archive=options["archive"]).first()
    if found is None:
        raise ArchiveMissing(
            f"No run of this installation made an archive {options['archive']} at {target.name}."
        )
    return found


def _new_name(made: BackupRun, options: dict[str, Any]) -> str:
    """With the other modes the tenant is typed once more, so that it is the one that is meant."""
    mode, tenant = options["mode"], options["tenant"] or ""
    if mode == Mode.NEW_TENANT:
        return tenant
    if (mode in NAMED and tenant != made.tenant) or tenant not in {"", made.tenant}:
        raise RestoreRefused(
            f"Expected --tenant {made.tenant!r}, whose archive it is, got {tenant!r}."
        )
    return ""


def _facts(asked: BackupRestore) -> dict[str, Any]:
    return {
        "id": str(asked.pk),
        "job": str(asked.job_id),
        "archive": asked.run.archive,
        "mode": asked.mode,
        "tenant": asked.tenant,
        "state": asked.state,
        "phase": asked.phase,
        "code": asked.code,
        "rows": asked.rows,
        "safety": asked.safety.archive if asked.safety else None,
        "report": asked.report,
    }
