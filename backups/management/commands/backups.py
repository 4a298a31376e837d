"""``manage.py backups VERB ...``: keys, and the archives at a target, on a terminal.

Exit codes: 0 all is well, 1 something was refused or is not sound, 2 the command line is wrong.
"""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from backups.archive import told
from backups.archive.listing import State, archives, parent_of
from backups.archive.read import read_manifest
from backups.archive.verify import Progress, verify
from backups.commands import plan, restore, restore_system, run
from backups.conf import conf
from backups.errors import BackupError
from backups.keys import KeyRing, MasterKey
from backups.models import BackupTarget
from backups.targets.directory import ReadOnlyDirectory
from backups.targets.opening import open_store
from backups.targets.store import Store

KEYGEN = "Make a master key, for BACKUPS_KEYS."
LIST = "What is at a target: complete archives, unfinished ones, and what is not ours."
INSPECT = "What an archive says of itself. Needs no key."
VERIFY = "Read archives, every byte, and say what is wrong with them."
KEEP = (
    "Put it first in BACKUPS_KEYS, leave the older ones there, and keep a copy elsewhere:"
    " without its key, nobody opens an archive."
)

Options = dict[str, Any]


class Command(BaseCommand):
    help = "Master keys, and the archives at a target."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
        _add_json(verbs.add_parser("keygen", help=KEYGEN, description=KEYGEN))
        _add_target(verbs.add_parser("list", help=LIST, description=LIST))
        plan.add(verbs.add_parser(plan.VERB, help=plan.HELP, description=plan.HELP))
        run.add(verbs.add_parser("run", help=run.HELP, description=run.HELP))
        whole = verbs.add_parser(
            restore_system.VERB, help=restore_system.HELP, description=restore_system.HELP
        )
        restore_system.add(whole)
        _add_target(whole)
        back = verbs.add_parser("restore", help=restore.HELP, description=restore.HELP)
        restore.add(back)
        _add_target(back)
        inspect = verbs.add_parser("inspect", help=INSPECT, description=INSPECT)
        inspect.add_argument("archive", metavar="ARCHIVE", help="its directory, as list shows it")
        _add_target(inspect)
        sound = verbs.add_parser("verify", help=VERIFY, description=VERIFY)
        sound.add_argument(
            "archives", nargs="*", metavar="ARCHIVE", help="none: every complete one"
        )
        sound.add_argument(
            "--encrypted", action="store_true", help="an archive that is not encrypted is not sound"
        )
        _add_target(sound)

    def handle(self, *args: Any, **options: Any) -> None:
        verbs: dict[str, Callable[[Options], None]] = {
            "keygen": self._keygen,
            "list": self._list,
            "inspect": self._inspect,
            "verify": self._verify,
            plan.VERB: partial(plan.run, self),
            "run": partial(run.run, self),
            restore_system.VERB: self._restore_system,
            "restore": self._restore,
        }
        try:
            verbs[options["verb"]](options)
        except BackupError as refused:
            if options["as_json"]:
                self._write_json({"error": {"code": refused.code, "text": str(refused)}})
            raise CommandError(f"{refused.code}: {refused}") from None

    def _keygen(self, options: Options) -> None:
        key = MasterKey.new()
        if options["as_json"]:
            self._write_json({"id": key.id, "key": key.text})
            return
        self.stdout.write(key.text)
        self.stderr.write(KEEP, str)

    def _list(self, options: Options) -> None:
        with _opened(options) as store:
            found = [(each, parent_of(store, each)) for each in archives(store)]
        if options["as_json"]:
            self._write_json([told.found_json(*each) for each in found])
        else:
            self._write_lines(told.found_line(*each) for each in found)

    def _inspect(self, options: Options) -> None:
        with _opened(options) as store:
            manifest, _ = read_manifest(store, options["archive"])
        if options["as_json"]:
            self._write_json(msgspec.to_builtins(manifest))
        else:
            self._write_lines(told.manifest_lines(manifest))

    def _restore_system(self, options: Options) -> None:
        restore_system.refuse(options)
        with _opened(options) as store:
            restore_system.run(self, store, _keys(), options)

    def _restore(self, options: Options) -> None:
        with _opened(options) as store:
            restore.run(self, options, store, _keys())

    def _verify(self, options: Options) -> None:
        ring, reports = _keys(), []
        with _opened(options) as store:
            complete = (each.name for each in archives(store) if each.state is State.COMPLETE)
            for name in options["archives"] or list(complete):
                show, encrypted = self._progress(name), options["encrypted"]
                reports.append(verify(store, name, ring, encrypted=encrypted, progress=show))
                if not options["as_json"]:
                    self._write_lines(told.report_lines(reports[-1]))
        if options["as_json"]:
            self._write_json(list(map(told.report_json, reports)))
        if not reports:
            raise CommandError("There is no complete archive at the target.")
        if unsound := sum(1 for each in reports if not each.sound):
            raise CommandError(f"Not sound: {unsound} of {len(reports)}.")

    def _write_lines(self, lines: Iterator[str]) -> None:
        for line in lines:
            self.stdout.write(line)

    def _write_json(self, value: object) -> None:
        self.stdout.write(json.dumps(value, indent=2))

    def _progress(self, name: str) -> Callable[[Progress], None]:
        """A line that changes, on a terminal; silence elsewhere."""
        if not self.stderr.isatty():
            return lambda _: None

        def show(at: Progress) -> None:
            end = "\n" if at.members == at.of_members else ""
            self.stderr.write(f"\r{told.progress_line(name, at)}", str, ending=end)
            self.stderr.flush()

        return show


def _add_json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", dest="as_json", help="for programs")


def _add_target(parser: ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--target", metavar="NAME", help="a target of this installation")
    where.add_argument("--directory", metavar="PATH", help="a directory; no database is asked")
    _add_json(parser)


@contextmanager
def _opened(options: Options) -> Iterator[Store]:
    if options["directory"] is not None:
        with ReadOnlyDirectory(Path(options["directory"])) as directory:
            yield directory
        return
    target = BackupTarget.objects.filter(name=options["target"]).first()
    if target is None:
        raise CommandError(f"There is no target {options['target']!r}.")
    with open_store(target) as opened:
        yield opened


def _keys() -> KeyRing:
    try:
        return conf().keys
    except ImproperlyConfigured as unusable:
        raise CommandError(str(unusable)) from None
