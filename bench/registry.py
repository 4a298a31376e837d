"""The cases by name, each with how its figures are shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.commandline import Options
from bench.system import System

Figures = dict[str, Any]
Run = Callable[..., Figures]


@dataclass(frozen=True, slots=True)
class Case:
    """``shown`` formats the figures of one system. ``variants`` are run on hubqueue's database instead of
    on each system. ``ours`` = means nothing for peers."""

    name: str
    run: Run
    shown: str
    ours: bool = False
    variants: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return (self.run.__doc__ or "").strip().splitlines()[0]


CASES: dict[str, Case] = {}


def case(
    name: str,
    *,
    shown: str = "{rate:,.0f}",
    ours: bool = False,
    variants: Mapping[str, Any] | None = None,
) -> Callable[[Run], Run]:
    """Register ``run(system, options)``, or ``run(system, options, variant)``, as a case."""

    def register(run: Run) -> Run:
        CASES[name] = Case(name, run, shown, ours, variants or {})
        return run

    return register


def jobs(system: System, options: Options, usual: int) -> int:
    """How many jobs a case takes: as asked, or the usual number; fewer for a system that is known to be slow."""
    return max(20, (options.jobs or usual) // int(system.facts.get("slower", 1)))
