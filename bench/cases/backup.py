"""Backups: rows that leave and come back, beside what else does that; and the queue beside a backup."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import starts
from bench.commandline import Options
from bench.errors import Broken, Skipped
from bench.ready import READY
from bench.registry import Figures, case, jobs
from bench.system import System

DATABASE = "hubqueue_bench_backup"
FEWER = 20  # Django's own two get one row of so many
USUAL = 60_000

Ask = Callable[..., Any]
Place = tuple[Ask, Path]


@case(
    "backup-export",
    shown="{ratio:.2f} of pg_dump, {times:.0f}x dumpdata ({rate:,.0f} rows/s, {mb:.0f} MB)",
    ours=True,
)
def export(system: System, options: Options) -> Figures:
    """rows/s of 1,000,000 into an encrypted archive, relative to pg_dump and dumpdata; memory at the peak"""
    fewer = max(1, options.rows // FEWER)
    with _place(system) as (ask, path):
        ask("setup", rows=options.rows)
        ours = ask("archive", volume=str(path))
        theirs = ask("others", rows=options.rows, fewer=fewer, file=str(path / "dumped.jsonl"))
    if ours["rows"] != options.rows:
        raise Broken(f"{ours['rows']} of {options.rows} rows are in the archive")
    return {
        "rate": ours["rate"],
        "mb": ours["mb"],
        **theirs,
        "ratio": ours["rate"] / theirs["pg_dump"],
        "times": ours["rate"] / theirs["dumpdata"],
    }


@case(
    "backup-restore",
    shown="{times:.0f}x loaddata ({rate:,.0f} rows/s, {mb:.0f} MB)",
    ours=True,
)
def restore(system: System, options: Options) -> Figures:
    """rows/s of 1,000,000 out of an archive, all its checks included, relative to loaddata; memory at the peak"""
    with _place(system) as (ask, path):
        ask("setup", rows=options.rows)
        made = ask("archive", volume=str(path))
        ours = ask("bring_back", volume=str(path), name=made["name"])
        fewer = max(1, options.rows // FEWER)
        loaddata = ask("loaddata", fewer=fewer, file=str(path / "dumped.jsonl"))
    if ours["rows"] != options.rows:
        raise Broken(f"{ours['rows']} of {options.rows} rows came back")
    return {
        "rate": ours["rate"],
        "mb": ours["mb"],
        "loaddata": loaddata,
        "times": ours["rate"] / loaddata,
    }


@case(
    "backup-beside",
    shown="{ratio:.2f} ({rate:,.0f} of {alone:,.0f}; {writing:,.0f} while it writes)",
    ours=True,
)
def beside(system: System, options: Options) -> Figures:
    """no-op jobs/s while a backup holds its snapshot, relative to none; and while it writes 1,000,000 rows"""
    if system.name != "hubqueue":
        raise Skipped("means nothing for a peer")
    count = jobs(system, options, USUAL)
    with TemporaryDirectory() as made:
        _ask(system, system.url, "setup", rows=options.rows)
        alone = _rate(system, options, count, nullcontext())
        rate = _rate(system, options, count, _backup(system, "hold"))
        writing = _rate(system, options, count, _backup(system, "write", volume=made))
        _ask(system, system.url, "setup", rows=0)
    return {"rate": rate, "alone": alone, "writing": writing, "ratio": rate / alone}


def _rate(
    system: System, options: Options, count: int, backup: AbstractContextManager[None]
) -> float:
    """Starts per second from the first to the last of ``count``."""
    system.reset()
    system.load("noop", count)
    system.analyze()
    with backup:
        system.start(1, options.concurrency)
        system.await_starts(count, options.patience)
        begun = system.starts()[:count]
    system.kill()
    return starts.rate(begun)


@contextmanager
def _backup(system: System, operation: str, **given: Any) -> Iterator[None]:
    """A backup in a process of its own that is at it when the block begins, and is killed at its end."""
    process = subprocess.Popen(
        _command(operation, given),
        env=system.environment | {"BENCH_DSN": system.url},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=system.said,
        text=True,
    )
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != READY:
            raise Broken(f"{operation} could not start: see {system.said.name}")
        yield
        if process.poll() is not None:
            raise Broken(f"{operation} ended too early: see {system.said.name}")
    finally:
        process.kill()
        process.communicate()


@contextmanager
def _place(system: System) -> Iterator[Place]:
    """An empty database and a directory, and what asks the agent to work there."""
    if system.name != "hubqueue":
        raise Skipped("means nothing for a peer")
    url = system.server.fresh_database(DATABASE)
    try:
        with TemporaryDirectory() as made:
            yield lambda operation, **given: _ask(system, url, operation, **given), Path(made)
    finally:
        system.server.drop(DATABASE)


def _ask(system: System, url: str, operation: str, **given: Any) -> Any:
    done = subprocess.run(
        _command(operation, given),
        env=system.environment | {"BENCH_DSN": url},
        stdout=subprocess.PIPE,
        stderr=system.said,
        check=False,
    )
    if done.returncode != 0:
        raise Broken(f"{operation} failed: see {system.said.name}")
    return json.loads(done.stdout.splitlines()[-1])


def _command(operation: str, given: dict[str, Any]) -> list[str]:
    return [sys.executable, "-m", "bench.backup_agent", operation, json.dumps(given)]
