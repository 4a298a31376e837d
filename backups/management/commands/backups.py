"""``manage.py backups VERB ...``: keys, and the archives at a target, on a terminal.

Exit codes: 0 all is well, 1 something was refused or is not sound, 2 the command line is wrong. With ``--json``
stdout is one document, also when something was refused: ``{"error": {"code", "text"}}``.
"""

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from backups.commands import files, inspect, keygen, plan, restore, run, verify
from backups.commands import list as list_verb
from backups.commands.screen import Screen, plain
from backups.errors import BackupError, KeysUnusable, NotEncrypted

VERBS = {
    each.VERB: each for each in (keygen, run, list_verb, inspect, files, verify, plan, restore)
}


class Command(BaseCommand):
    help = "Master keys, and the archives at a target."
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        for name, verb in VERBS.items():
            below = verbs.add_parser(name, help=verb.HELP, description=verb.HELP)
            verb.add(below)
            below.add_argument("--json", action="store_true", dest="as_json", help="for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        screen = Screen(self.stdout, self.stderr, as_json=options["as_json"])
        try:
            VERBS[options["verb"]].run(screen, options)
        except BackupError as refused:
            raise _told(screen, refused) from None
        except ImproperlyConfigured as unusable:
            raise _told(screen, KeysUnusable(str(unusable))) from None


def _told(screen: Screen, refused: BackupError) -> CommandError:
    text = str(refused)
    if isinstance(refused, NotEncrypted):
        text += " If nobody else can write to that place, say --unencrypted."
    if screen.as_json:
        screen.answer({"error": {"code": refused.code, "text": text}}, [])
    return CommandError(plain(f"{refused.code}: {text}"))
