"""What was asked for on the command line."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import installs


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number above 0, got {text}")
    return number


NUMBERS: tuple[tuple[str, Callable[[str], float], float | None, str], ...] = (
    ("repeat", _positive, 3, "runs per figure"),
    ("jobs", _positive, None, "jobs of a run; each case has its usual number"),
    ("rows", _positive, 1_000_000, "rows beside them"),
    ("seconds", float, 30, "of what is timed"),
    ("concurrency", _positive, None, "instead of each system's best setting"),
    ("writers", _positive, 32, "processes of doorbell and clients of leads-arm"),
    ("crash-wait", float, 45, "seconds of patience after a kill"),
    ("patience", float, 300, "seconds before a run has failed"),
)
PEERS = ("procrastinate", "pgqueuer", "django-tasks-db")


@dataclass(frozen=True, slots=True)
class Options:
    """``jobs`` None = each case's usual number. Times are seconds."""

    cases: tuple[str, ...]
    peers: tuple[str, ...] = ()
    repeat: int = 3
    jobs: int | None = None
    rows: int = 1_000_000
    seconds: float = 30
    concurrency: int | None = None
    writers: int = 32
    crash_wait: float = 45
    patience: float = 300
    json: Path | None = None


def parser(alone: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Every option, and every case with its line."""
    from bench.cases import CASES

    listed = "\n".join(f"  {name:<18}{case.title}" for name, case in CASES.items())
    made = argparse.ArgumentParser(
        prog="./dev bench",
        description="Measure hubqueue beside other queues. docs/bench.md tells how to read it.",
        epilog=f"cases:\n{listed}\nby themselves: {', '.join(alone)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("cases", nargs="+", metavar="CASE", help="names of cases, or all")
    made.add_argument(
        "--peers",
        default=",".join(PEERS),
        help=f"out of {', '.join(installs.names()[1:])}; none for hubqueue alone (%(default)s)",
    )
    for name, kind, usual, meaning in NUMBERS:
        shown = "" if usual is None else f" ({usual})"
        made.add_argument(f"--{name}", type=kind, default=usual, help=meaning + shown)
    made.add_argument("--json", type=Path, help="add {case: {system: figures}} to this file")
    return made


def parse(arguments: Sequence[str], alone: Sequence[str] = ()) -> Options:
    """Read the arguments; exits with a sentence when they make no sense."""
    from bench.cases import CASES

    reader = parser(alone)
    given = vars(reader.parse_args(arguments))
    given["cases"] = tuple(CASES) if given["cases"] == ["all"] else tuple(given["cases"])
    given["peers"] = tuple(name for name in given["peers"].split(",") if name not in ("", "none"))
    for name in given["cases"]:
        if name not in CASES:
            known = ", ".join([*CASES, *alone])
            reader.error(f"expected a case out of {known}, got {name!r}.")
    for name in given["peers"]:
        if name not in installs.names()[1:]:
            reader.error(f"expected peers out of {', '.join(installs.names()[1:])}, got {name!r}.")
    return Options(**given)
