"""``manage.py import_registrations FILE``: registrations of a CSV file, here and now."""

import getpass
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from leads.errors import ImportRefused
from leads.importing.events import import_events
from leads.importing.report import report_lines
from leads.imports import import_registrations

SHOWN = 50


class Command(BaseCommand):
    help = (
        "Import registrations from a CSV file. Good rows come in, every other one is named with its"
        " line and reason; the same file again changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file")
        parser.add_argument("--events", help="a CSV file of events to create first")
        parser.add_argument("--no-leads", action="store_true", help="generate no leads of these")
        parser.add_argument("--report", help="write every problem to this CSV file")
        parser.add_argument("--tenant", help="whose events these are")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["events"]:
                with open(options["events"], "rb") as file:
                    created = import_events(file, tenant=options["tenant"])
                self.stdout.write(f"events: {created} created")
            with open(options["file"], "rb") as file:
                loaded = import_registrations(
                    file,
                    tenant=options["tenant"],
                    arm_leads=not options["no_leads"],
                    by=getpass.getuser(),
                )
        except ImportRefused as refused:
            raise CommandError(str(refused)) from None
        except OSError as gone:
            raise CommandError(f"The file cannot be read: {gone.strerror}.") from None
        for each in loaded.problems[:SHOWN]:
            self.stdout.write(f"line {each.line}: {each.reason} ({each.code})")
        if len(loaded.problems) > SHOWN:
            self.stdout.write(f"... and {len(loaded.problems) - SHOWN} more; --report has them all")
        if options["report"]:
            with open(options["report"], "w", newline="", encoding="utf-8") as file:
                file.writelines(report_lines(loaded.problems))
        self.stdout.write(
            f"{loaded.imported} imported, {loaded.duplicates} duplicates, {loaded.bad} bad"
        )
