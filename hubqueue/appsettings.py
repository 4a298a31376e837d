"""Settings of an application above the queue, read once into a frozen, validated object."""

from collections.abc import Callable
from dataclasses import Field, fields
from functools import lru_cache
from math import inf
from typing import Any, ClassVar, Protocol, TypeVar

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed


class Conf(Protocol):
    """A frozen dataclass: each field is the Django setting of the name in upper case, with its default."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def problems(self) -> list[str]: ...


C = TypeVar("C", bound=Conf)


def read(shape: type[C]) -> C:
    """The settings as they stand, good or not."""
    names = {each.name: each.name.upper() for each in fields(shape)}
    given = {f: getattr(settings, name) for f, name in names.items() if hasattr(settings, name)}
    return shape(**given)


def reader(shape: type[C]) -> Callable[[], C]:
    """A function that answers the settings of this process, read and checked once.

    It raises ``ImproperlyConfigured`` with all that is wrong; a changed setting (in tests) is read anew.
    """

    @lru_cache(maxsize=1)
    def conf() -> C:
        found = read(shape)
        if problems := found.problems():
            raise ImproperlyConfigured(" ".join(problems))
        return found

    names = {each.name for each in fields(shape)}

    def forget(*, setting: str, **_: object) -> None:
        if setting.lower() in names:
            conf.cache_clear()

    setting_changed.connect(forget, weak=False)
    return conf


def mistyped(conf: Any) -> list[str]:
    """A sentence for each field whose value is not of its default's type, or is a number not above 0, or endless."""
    found = []
    for each in fields(conf):
        value, wanted = getattr(conf, each.name), type(each.default)
        fits = type(value) in (int, float) if wanted is float else type(value) is wanted
        if not fits:
            found.append(
                f"{each.name.upper()} must be {wanted.__name__}, got {type(value).__name__}."
            )
        elif wanted in (int, float) and not 0 < value < inf:
            found.append(f"{each.name.upper()} must be a number above 0, got {value}.")
    return found
