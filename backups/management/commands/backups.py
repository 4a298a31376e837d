"""``manage.py backups VERB ...``: the keys of archives, on a terminal."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from backups.archive.keys import MasterKey

KEYGEN = "Make a master key, for BACKUPS_KEYS."


class Command(BaseCommand):
    help = "Master keys of archives."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        keygen = verbs.add_parser("keygen", help=KEYGEN, description=KEYGEN)
        keygen.add_argument("--json", action="store_true", dest="as_json", help="for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        key = MasterKey.new()
        if options["as_json"]:
            self.stdout.write(json.dumps({"id": key.id, "key": key.text}, indent=2))
            return
        self.stdout.write(key.text)
        self.stderr.write(
            "Put it first in BACKUPS_KEYS, leave the older ones there, and keep a copy elsewhere:"
            " without its key, nobody opens an archive."
        )
