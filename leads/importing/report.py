"""The report of an import as CSV, for a person's spreadsheet."""

import csv
import io
from collections.abc import Iterable, Iterator

from leads.importing.rows import Problem

# What a spreadsheet would take for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def report_lines(problems: Iterable[Problem]) -> Iterator[str]:
    """Header and one line per problem: line, code, reason."""
    yield _line(["line", "code", "reason"])
    for each in problems:
        yield _line([str(each.line), each.code, each.reason])


def harmless(text: str) -> str:
    """The text as a cell that no spreadsheet runs."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def _line(cells: list[str]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerow([harmless(cell) for cell in cells])
    return written.getvalue()
