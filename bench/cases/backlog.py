"""What a million rows beside the due ones cost, and a wall of rows in front that must not be run."""

from bench.cases.beside import SHOWN, beside
from bench.commandline import Options
from bench.errors import Skipped
from bench.registry import Figures, case, jobs
from bench.system import System

USUAL = 10_000
WALL = 100_000
IN_FRONT = {"run_at": "now() - interval '1 hour'"}


@case("backlog-due", shown=SHOWN)
def due(system: System, options: Options) -> Figures:
    """jobs/s with 1,000,000 due jobs behind, relative to an empty table"""
    return _beside_rows(system, options, {})


@case("backlog-later", shown=SHOWN)
def later(system: System, options: Options) -> Figures:
    """the same with 1,000,000 jobs scheduled for tomorrow"""
    return _beside_rows(system, options, system.facts["clone"]["later"])


@case("finished-rows", shown=SHOWN)
def finished(system: System, options: Options) -> Figures:
    """the same with 1,000,000 jobs that are finished and not purged yet"""
    shape = system.facts["clone"]
    if "finished" not in shape:
        raise Skipped("takes finished jobs out of its table")
    return _beside_rows(system, options, shape["finished"])


@case("wall-unknown", shown=SHOWN, ours=True)
def unknown(system: System, options: Options) -> Figures:
    """the same with 100,000 due jobs of an unknown kind in front"""
    return _behind_wall(system, options, {"kind": "'bench.nobody'"})


@case("wall-paused", shown=SHOWN, ours=True)
def paused(system: System, options: Options) -> Figures:
    """the same with 100,000 due jobs of a paused kind in front"""
    return _behind_wall(system, options, {"kind": "'bench.paused'"}, pause="paused")


def _beside_rows(system: System, options: Options, columns: dict[str, str]) -> Figures:
    count = jobs(system, options, USUAL)
    return beside(system, options, count, lambda: system.clone(options.rows, columns))


def _behind_wall(
    system: System, options: Options, columns: dict[str, str], pause: str = ""
) -> Figures:
    def fill() -> None:
        system.clone(min(options.rows, WALL), {**IN_FRONT, **columns})
        if pause:
            system.ask("pause", kind=pause)

    return beside(system, options, jobs(system, options, USUAL), fill)
