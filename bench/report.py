"""Figures of several runs to one, to a table and to a file."""

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.registry import Case, Figures

Results = dict[str, dict[str, Figures]]


def median(runs: Sequence[Figures]) -> Figures:
    """The median of each number over the runs that have it, ``runs`` with every rate, and what was said."""
    merged: Figures = {}
    for run in runs:
        for key, value in run.items():
            if not isinstance(value, int | float):
                merged.setdefault(key, value)
                continue
            merged[key] = statistics.median(each[key] for each in runs if key in each)
    rates = [run["rate"] for run in runs if "rate" in run]
    if len(rates) > 1:
        merged["runs"] = rates
    return merged


def shown(pattern: str, figures: Figures) -> str:
    """The figures of one system as its cell in the table."""
    try:
        text = pattern.format(**figures)
    except KeyError:
        text = ""
    notes = [str(figures[key]) for key in ("note", "skipped", "error") if key in figures]
    return "; ".join(filter(None, [text, *notes]))


def failed(figures: Mapping[str, Figures]) -> bool:
    """Whether a run on hubqueue failed."""
    return any("error" in each for name, each in figures.items() if name == "hubqueue")


def table(results: Results, cases: Mapping[str, Case]) -> str:
    """Markdown: a line per case, a column per system; variants of a case get a line each."""
    systems = list(
        dict.fromkeys(
            name for case, each in results.items() if not cases[case].variants for name in each
        )
    )
    lines = []
    if systems:
        lines += [
            _line(["case", *systems, "hubqueue / best peer"]),
            "|---" * (len(systems) + 2) + "|",
        ]
    for name, figures in results.items():
        if cases[name].variants:
            continue
        cells = [
            shown(cases[name].shown, figures[each]) if each in figures else "" for each in systems
        ]
        lines.append(_line([name, *cells, _ratio(figures)]))
    for name, figures in results.items():
        if cases[name].variants:
            lines += ["", _line([name, ""]), "|---|---|"]
            lines += [_line([each, shown(cases[name].shown, figures[each])]) for each in figures]
    return "\n".join(lines)


def write(path: Path, results: Results) -> None:
    """Add the results to the JSON file; a case that is there already is replaced."""
    content: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    content.update(results)
    path.write_text(json.dumps(content, indent=1) + "\n")


def _ratio(figures: Mapping[str, Figures]) -> str:
    rates = {name: each["rate"] for name, each in figures.items() if "rate" in each}
    ours = rates.pop("hubqueue", None)
    return f"{ours / max(rates.values()):.2f}" if ours and rates else ""


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
