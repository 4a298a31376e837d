"""``manage.py demo``: everything at once, on made-up data."""

import json
import os
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from backups.errors import BackupError
from demo import first_backup, mails, stage
from demo.first_backup import FirstBackup
from demo.processes import Crew, PortTaken, require_free


class Command(BaseCommand):
    help = (
        "Migrate, import the demo's events and registrations, take a first backup, and run a worker and"
        " the web server (or, with --until-idle, the worker alone until nothing is due)."
    )
    requires_system_checks: list[str] = []
    _backup: FirstBackup | None = None

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--until-idle", action="store_true", help="end when nothing is due")
        parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
        parser.add_argument("--port", type=int, default=8000, help="of the web server (8000)")

    def handle(self, *args: Any, **options: Any) -> None:
        started = time.monotonic()
        until_idle = options["until_idle"]
        if not until_idle:
            try:
                require_free(options["port"])
            except PortTaken as taken:
                raise CommandError(str(taken)) from None
        # For the links in mails, which a worker writes.
        os.environ.setdefault("BASE_URL", f"http://127.0.0.1:{options['port']}")
        self._say("Preparing the database ...")
        call_command("migrate", interactive=False, verbosity=0)
        before = stage.leads_so_far()
        mailed = mails.sent_so_far()
        self._prepare()
        if until_idle:
            self._work_until_idle(before, mailed, started, as_json=options["json"])
        else:
            self._serve(options["port"])

    def _prepare(self) -> None:
        password = stage.make_officer()
        if password:
            self._say(f"Officer: user {stage.OFFICER}, password {password} (shown this once).")
        else:
            self._say(f"Officer: user {stage.OFFICER}, with the password of the first time.")
        loaded = stage.load()
        self._say(
            f"Registrations: {loaded.imported} imported, {loaded.duplicates} there already,"
            f" {loaded.bad} bad."
        )
        self._prepare_mails()
        self._backup = self._first_backup()

    def _prepare_mails(self) -> None:
        folder = mails.folder()
        if folder is None:
            self._say(
                "Mails: none, the demo's addresses are made up; MAIL_URL=file:///... keeps them."
            )
            return
        mails.park_one()
        self._say(f"Mails: each becomes a file in {folder}")

    def _first_backup(self) -> FirstBackup | None:
        folder = first_backup.directory()
        if folder is None:
            self._say("Backups: none, they need BACKUPS_VOLUME and BACKUPS_KEYS.")
            return None
        try:
            backup = FirstBackup()
        except BackupError as refused:
            self._say(f"Backups: none now. {refused}")
            return None
        self._say(f"Backups: encrypted, in {folder}")
        backup.follow()
        return backup

    def _work_until_idle(
        self, before: stage.Counts, mailed: int, started: float, *, as_json: bool
    ) -> None:
        self._say("A worker runs what is due ...")
        with Crew() as crew:
            code = crew.run("runworker", "--until-idle")
            if not code and self._backup and self._backup.follow():
                code = crew.run("runworker", "--until-idle")
        seconds = round(time.monotonic() - started, 2)
        jobs = stage.jobs_by_kind()
        made = stage.leads_so_far().since(before)
        sent = mails.sent_so_far() - mailed
        waiting = stage.waiting_jobs() + (self._backup.faults() if self._backup else [])
        self._say(f"Leads: {made['created']} created, {made['grown']} grown, in {seconds} s.")
        self._say(f"Mails: {sent} delivered.")
        for kind, states in jobs.items():
            self._say(f"{kind}: " + ", ".join(f"{n} {state}" for state, n in states.items()))
        self._tell_backup()
        for line in waiting:
            self._say(line)
        if as_json:
            said = {
                "jobs": jobs,
                "leads": made,
                "mails": sent,
                "backups": first_backup.runs_by_state(),
                "seconds": seconds,
            }
            self.stdout.write(json.dumps(said))
        self.stdout.flush()
        if waiting or code:
            raise SystemExit(1)

    def _serve(self, port: int) -> None:
        with Crew() as crew:
            crew.start("runworker")
            crew.start("runserver", f"127.0.0.1:{port}", "--noreload", "--nostatic")
            self._say(f"http://127.0.0.1:{port}/admin/ (Ctrl-C ends it)")
            code = crew.wait(self._follow_backup)
        if code:
            raise SystemExit(1)

    def _follow_backup(self) -> bool:
        """Tell of the backup when it is there and was read again; True until then."""
        if self._backup and self._backup.follow():
            return True
        self._tell_backup()
        return False

    def _tell_backup(self) -> None:
        if self._backup:
            for line in self._backup.lines(os.environ["BASE_URL"]):
                self._say(line)

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()
