"""What was asked for on the command line."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import installs

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


def parse(arguments: Sequence[str], alone: Sequence[str] = ()) -> Options:
    """Read the arguments; exits with a sentence when they make no sense."""
    from bench.cases import CASES

    listed = "\n".join(f"  {name:<18}{case.title}" for name, case in CASES.items())
    parser = argparse.ArgumentParser(
        prog="./dev bench",
        description="Measure hubqueue beside other queues. docs/bench.md tells how to read it.",
        epilog=f"cases:\n{listed}\nby themselves: {', '.join(alone)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("cases", nargs="+", metavar="CASE", help="names of cases, or all")
    parser.add_argument(
        "--peers",
        default=",".join(PEERS),
        help=f"out of {', '.join(installs.names()[1:])}; none for hubqueue alone (%(default)s)",
    )
    parser.add_argument("--repeat", type=_positive, default=3, help="runs per figure (3)")
    parser.add_argument("--jobs", type=_positive, help="jobs of a run (each case has its own)")
    parser.add_argument(
        "--rows", type=_positive, default=1_000_000, help="rows beside them (1000000)"
    )
    parser.add_argument("--seconds", type=float, default=30, help="for what is timed (30)")
    parser.add_argument(
        "--concurrency", type=_positive, help="instead of each system's best setting"
    )
    parser.add_argument("--writers", type=_positive, default=32, help="processes of doorbell (32)")
    parser.add_argument("--crash-wait", type=float, default=45, help="patience after a kill (45 s)")
    parser.add_argument(
        "--patience", type=float, default=300, help="before a run has failed (300 s)"
    )
    parser.add_argument(
        "--json", type=Path, help="write {case: {system: figures}} here, adding to it"
    )
    given = vars(parser.parse_args(arguments))
    given["cases"] = tuple(CASES) if given["cases"] == ["all"] else tuple(given["cases"])
    given["peers"] = tuple(name for name in given["peers"].split(",") if name not in ("", "none"))
    for name in given["cases"]:
        if name not in CASES:
            known = ", ".join([*CASES, *alone])
            parser.error(f"expected a case out of {known}, got {name!r}.")
    for name in given["peers"]:
        if name not in installs.names()[1:]:
            parser.error(f"expected peers out of {', '.join(installs.names()[1:])}, got {name!r}.")
    return Options(**given)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number
