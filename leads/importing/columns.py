"""The header of a file: which delimiter it uses, and what its columns mean."""

from collections.abc import Sequence
from dataclasses import dataclass

from leads.errors import ImportRefused

DELIMITERS = (",", ";", "\t")
REQUIRED = ("event", "name", "email", "phone", "company", "sale_order", "state", "registered_at")
MAX_QUESTIONS = 50
MAX_TITLE = 200


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each column stands. Columns beyond the required ones are questions, by their name."""

    delimiter: str
    names: tuple[str, ...]

    @property
    def questions(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in REQUIRED)


def read_header(line: str | None, *, required: Sequence[str] = REQUIRED) -> Layout:
    """The layout that the first line speaks of. Raises ``ImportRefused`` in one sentence."""
    if not line or not line.strip():
        raise ImportRefused(f"Expected a header with {', '.join(required)}, got an empty line.")
    delimiter = max(DELIMITERS, key=lambda each: _known(line, each, required))
    names = _names(line, delimiter)
    missing = [name for name in required if name not in names]
    if len(missing) == len(required):
        raise ImportRefused(
            f"Expected a header with {', '.join(required)}, got a first line without any of them."
        )
    if missing:
        raise ImportRefused(
            f"Expected the columns {', '.join(required)}; missing are {', '.join(missing)}: add them."
        )
    twice = sorted({name for name in names if name in required and names.count(name) > 1})
    if twice or len(set(names)) != len(names):
        raise ImportRefused("Expected each column once; one stands twice: remove one of them.")
    if len(names) - len(required) > MAX_QUESTIONS or any(
        not name or len(name) > MAX_TITLE or not name.isprintable() for name in names
    ):
        raise ImportRefused(
            f"Expected at most {MAX_QUESTIONS} further columns with printable names of up to"
            f" {MAX_TITLE} characters; remove the others."
        )
    return Layout(delimiter, tuple(names))


def _known(line: str, delimiter: str, required: Sequence[str]) -> int:
    return len(set(_names(line, delimiter)) & set(required))


def _names(line: str, delimiter: str) -> list[str]:
    return [cell.strip().strip('"').strip().lower() for cell in line.split(delimiter)]
