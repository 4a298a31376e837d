"""The soak runs, tells what it saw, and names the invariant that does not hold."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT
from tests.faults.soak import books

MINUTES = "0.1"
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def soak(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.faults.soak", MINUTES, *words],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "TMPDIR": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def test_a_soak_holds_tells_its_figures_and_names_the_invariant_that_is_broken_behind_its_back(
    tmp_path: Path,
) -> None:
    lose_one = "DELETE FROM burden_effect WHERE name = (SELECT min(name) FROM burden_effect)"
    written = tmp_path / "figures.json"
    ended = soak(tmp_path, "--seed", "7", "--json", str(written), "--plant", lose_one)
    assert "every invariant held" in ended.stdout, ended.stdout + ended.stderr
    figures = json.loads(written.read_text())
    assert figures["seed"] == 7
    assert figures["effects"] > 0
    assert figures["faults"]
    assert ended.returncode == 1
    assert "violated: Every committed enqueue takes effect, unless an officer" in ended.stderr
    assert f"./dev soak {MINUTES} --seed 7" in ended.stderr


@pytest.mark.parametrize(
    ("check", "looks_for", "found", "sentence"),
    [
        (books.effects, "HAVING", [("a",)], "A transactional effect takes place once."),
        (books.effects, "EXCEPT", [("a",)], "What was rolled back has no effect."),
        (books.done_or_cancelled, "CANCELLED", [("a",)], "What was cancelled has no effect."),
        (books.ticks, "periodictick", [(NOON, "job")], "Each minute of a schedule runs once."),
        (books.ticks, "soak_tick", [(NOON,)], "Each minute of a schedule runs once."),
    ],
)
def test_each_invariant_can_fail(
    check: Callable[[books.Ask], None],
    looks_for: str,
    found: list[tuple[Any, ...]],
    sentence: str,
) -> None:
    check(lambda sql: [])
    with pytest.raises(books.Violated, match=sentence):
        check(lambda sql: found if looks_for in sql else [])


def test_an_acknowledged_name_that_is_not_in_the_ledger_is_lost() -> None:
    books.nothing_lost({"a"}, {"a", "b"})
    with pytest.raises(books.Violated, match="never lost"):
        books.nothing_lost({"a", "b"}, {"a"})
