"""What the doctor says: one thing that was looked at, in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class Severity(StrEnum):
    """``error``: work is lost, refused or stuck, or will be. ``warning``: slower or blinder than it should be."""

    ERROR = "error"
    WARNING = "warning"
    OK = "ok"


@dataclass(frozen=True, slots=True)
class Finding:
    """One condition: a stable ``code``, what was expected, what was found, and what to do about it.

    Safe to show: names, numbers and settings; never a password, a payload or the text of a statement.
    """

    severity: Severity
    code: str
    expected: str
    found: str
    advice: str = ""

    def line(self) -> str:
        """The finding as one line of text."""
        if self.severity is Severity.OK:
            return one_line(f"{self.severity:<8} {self.code}: {self.found}")
        return one_line(
            f"{self.severity:<8} {self.code}: expected {self.expected}; found {self.found}."
            f" To do: {self.advice}."
        )


def error(code: str, *, expected: str, found: str, advice: str) -> Finding:
    return Finding(Severity.ERROR, code, expected, found, advice)


def warning(code: str, *, expected: str, found: str, advice: str) -> Finding:
    return Finding(Severity.WARNING, code, expected, found, advice)


def well(code: str, found: str) -> Finding:
    """Nothing is wrong there; ``found`` says what was seen."""
    return Finding(Severity.OK, code, "", found)


def one_line(text: str) -> str:
    """Without control characters: names come from rows and from other programs."""
    return "".join(each if each.isprintable() else "?" for each in text)


def names(given: Sequence[str], most: int = 5) -> str:
    """``a, b, c and 4 more``."""
    shown = ", ".join(given[:most])
    return shown if len(given) <= most else f"{shown} and {len(given) - most} more"


def span(length: timedelta | float) -> str:
    """A length of time as people say it: ``250 ms``, ``20 s``, ``3 min``, ``2.5 h``, ``4 days``."""
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    for size, word in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{round(seconds / size, 1):g} {word}"
    return f"{round(seconds, 1):g} s"
