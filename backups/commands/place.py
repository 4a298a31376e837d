"""Where archives lie: a target of this installation, or a directory that needs none."""

from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backups.errors import NameUnknown
from backups.models import BackupTarget
from backups.targets.directory import ReadOnlyDirectory
from backups.targets.opening import open_store
from backups.targets.store import Store


@dataclass(frozen=True, slots=True)
class Place:
    """``encrypted``: an archive there that is not encrypted is not one to trust."""

    store: Store
    encrypted: bool


def add(parser: ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--target", metavar="NAME", help="a target of this installation")
    where.add_argument("--directory", metavar="PATH", help="a directory; no database is asked")


def add_unencrypted(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--unencrypted",
        action="store_true",
        help="take an archive that is not encrypted, so that anybody who can write there may have made it",
    )


@contextmanager
def opened(options: dict[str, Any]) -> Iterator[Place]:
    """The place of the options, while the block runs.

    Archives must be encrypted there, unless the target is one that does not encrypt or ``--unencrypted`` is given.
    Raises ``NameUnknown``, ``TargetError``.
    """
    encrypted = not options.get("unencrypted")
    if options["directory"] is not None:
        with ReadOnlyDirectory(Path(options["directory"])) as directory:
            yield Place(directory, encrypted)
        return
    target = named(options["target"])
    encrypts = target.encryption == BackupTarget.Encryption.CLIENT
    with open_store(target) as store:
        yield Place(store, encrypted and encrypts)


def named(name: str) -> BackupTarget:
    """The target of this name. Raises ``NameUnknown``."""
    target = BackupTarget.objects.filter(name=name).first()
    if target is None:
        raise NameUnknown(f"There is no target {name!r}.")
    return target
