"""What ``TASKS[alias]["OPTIONS"]`` may say, as one frozen object."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Options:
    """``transactional``: the function's writes and its completion are one commit, so it takes effect exactly once.

    ``max_attempts``: how often a function that raises is tried. Django knows no retries, so the default is 1.
    """

    transactional: bool = False
    max_attempts: int = 1


def read(given: Mapping[str, Any]) -> tuple[Options, list[str]]:
    """The options, and one sentence per entry that is wrong and was left at its default."""
    known = {each.name: each for each in fields(Options)}
    problems = [
        f"OPTIONS: expected some of {', '.join(sorted(known))}, got {name!r}: remove or correct it."
        for name in sorted(map(str, given))
        if name not in known
    ]
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            continue
        if type(value) is not known[name].type:
            problems.append(f"OPTIONS[{name!r}]: expected {_words(name)}, got {_shown(value)}.")
        elif name == "max_attempts" and value < 1:
            problems.append(f"OPTIONS[{name!r}]: expected at least 1, got {value}.")
        else:
            values[name] = value
    return Options(**values), problems


def _words(name: str) -> str:
    return "True or False" if name == "transactional" else "a whole number"


def _shown(value: object) -> str:
    return type(value).__name__
