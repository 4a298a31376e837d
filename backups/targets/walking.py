"""The objects of a target that has directories, in the order of their names."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from backups.targets.names import LONGEST, UNFINISHED, is_part
from backups.targets.store import Stored


class Entry(NamedTuple):
    """One entry of a directory. ``size`` in bytes."""

    name: str
    directory: bool
    size: int


def walk(
    entries: Callable[[str], Iterable[Entry]], prefix: str, directory: str | None = None
) -> Iterator[Stored]:
    """All objects whose names begin with ``prefix``, by name. ``entries`` lists one directory, ``""`` = the root.

    Holds one directory per level in memory. What has no name of ours, one that is too long among them, is passed over
    and not entered: a server may tell of directories without an end.
    """
    if directory is None:
        directory = prefix.rpartition("/")[0]
    ours = (each for each in entries(directory) if is_part(each.name))
    # A directory counts as its name with a slash, or `a/b` and `a-c` would come in another order than by name.
    for each in sorted(ours, key=lambda one: one.name + "/" * one.directory):
        full = f"{directory}/{each.name}" if directory else each.name
        if len(full) > LONGEST:
            continue
        if not each.directory:
            if full.startswith(prefix):
                yield Stored(full, each.size)
        elif f"{full}/".startswith(prefix):
            yield from walk(entries, prefix, full)


def unfinished_below(
    entries: Callable[[str], Iterable[Entry]], directory: str
) -> Iterator[tuple[str, str]]:
    """What puts that died left in ``directory`` and below: each one's directory and last name."""
    for each in entries(directory):
        if each.directory and is_part(each.name):
            yield from unfinished_below(entries, f"{directory}/{each.name}")
        elif each.name.startswith(UNFINISHED):
            yield directory, each.name
