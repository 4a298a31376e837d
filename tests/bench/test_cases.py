"""Every case runs on the queue and gives the figures that its cell shows. How large they are is no test's business."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench import installs, report
from bench.cases import CASES, floor, idle, leads, memory, snapshot
from bench.commandline import Options
from bench.errors import Skipped
from bench.server import started
from bench.system import System

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
TINY = Options(cases=(), jobs=60, rows=500, seconds=0.5, writers=2, crash_wait=60)


@pytest.fixture(scope="module")
def hubqueue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    with pytest.MonkeyPatch.context() as patch, started() as server:
        patch.setattr(installs, "HOME", tmp_path_factory.mktemp("bench"))
        system = System("hubqueue", server)
        yield system
        system.close()


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "ROUNDS", 10)
    monkeypatch.setattr(snapshot, "ROUNDS", 2)
    monkeypatch.setattr(idle, "SETTLE", 0)
    monkeypatch.setattr(floor, "FILL", 500)
    monkeypatch.setattr(leads, "COUNTED", 10)
    monkeypatch.setattr(leads, "GROWTHS", 2)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.variants])
def test_a_case_gives_the_figures_that_its_cell_shows(hubqueue: System, name: str) -> None:
    case = CASES[name]
    if name.startswith("effect-grouped") and "effect_grouped" not in hubqueue.facts["kinds"]:
        with pytest.raises(Skipped, match="group="):
            case.run(hubqueue, TINY)
        return
    assert case.shown.format(**case.run(hubqueue, enough_for(name)))


def enough_for(name: str) -> Options:
    """Two processes must both get a job, also where the second starts a second after the first."""
    of_a_second = {"drain2": 20_000, "effect2": 2_000, "effect-grouped2": 8_000}
    return replace(TINY, jobs=of_a_second.get(name, TINY.jobs))


@pytest.mark.parametrize("label", CASES["floor"].variants)
def test_every_loop_of_the_floor_completes_jobs(hubqueue: System, label: str) -> None:
    case = CASES["floor"]
    assert case.run(hubqueue, TINY, case.variants[label])["rate"] > 0


def test_the_command_prints_a_table_and_adds_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    asked = ["enqueue", "effect", "--peers", "none", "--repeat", "2", "--jobs", "30"]
    done = subprocess.run(
        [sys.executable, "-m", "bench", *asked, "--json", str(path)],
        env=installs.environment("hubqueue") | {"BENCH_HOME": str(tmp_path)},
        cwd=installs.CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("| case | hubqueue |")
    results: report.Results = json.loads(path.read_text())
    assert list(results) == ["enqueue", "effect"]
    assert results["effect"]["hubqueue"]["rate"] > 0
    assert len(results["effect"]["hubqueue"]["runs"]) == 2
