"""Classes that are made of the cursors of a connection."""

from collections.abc import Callable
from typing import Any


def derived(plain: type[Any], how: str, make: Callable[[type[Any]], type[Any]]) -> type[Any]:
    """What ``make`` makes of a class, once under each word ``how``.

    The class itself keeps it: where each connection has a class of its own, as some instruments do, both go with the
    connection.
    """
    name = f"_hubqueue_{how}"
    if name not in vars(plain):
        setattr(plain, name, make(plain))
    made: type[Any] = vars(plain)[name]
    return made
