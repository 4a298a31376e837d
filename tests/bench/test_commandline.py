"""What may be asked for."""

from pathlib import Path

import pytest

from bench.__main__ import alone
from bench.cases import CASES
from bench.commandline import PEERS, parse

GOALS = [
    *("enqueue", "bulk", "drain", "drain2", "effect", "effect2", "effect-grouped", "latency"),
    *("backlog-due", "backlog-later", "finished-rows", "wall-unknown", "wall-paused"),
    *("tenants-many", "tenants-one", "tenants-turn", "snapshot", "memory", "idle"),
    *("crash-child", "crash-worker", "floor", "doorbell"),
    *("backup-export", "backup-restore", "backup-beside"),
]


def test_there_is_a_case_for_every_goal() -> None:
    assert set(GOALS) <= set(CASES)


def test_every_case_says_in_one_line_what_its_figure_is() -> None:
    assert all(case.title for case in CASES.values())


def test_the_pages_are_still_measured_by_themselves() -> None:
    assert "admin-list" in alone()


def test_cases_peers_and_the_file_are_read() -> None:
    options = parse(
        ["drain", "effect", "--peers", "pgqueuer", "--json", "out.json", "--jobs", "50"]
    )
    assert options.cases == ("drain", "effect")
    assert options.peers == ("pgqueuer",)
    assert options.json == Path("out.json")
    assert options.jobs == 50


def test_the_three_peers_that_pip_installs_are_measured_unless_told_otherwise() -> None:
    assert parse(["drain"]).peers == PEERS


@pytest.mark.parametrize("nobody", ["none", ""])
def test_hubqueue_can_be_measured_alone(nobody: str) -> None:
    assert parse(["drain", "--peers", nobody]).peers == ()


def test_all_means_every_case() -> None:
    assert parse(["all"]).cases == tuple(CASES)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["drian"], "expected a case out of enqueue"),
        (["drain", "--peers", "celery"], "got 'celery'"),
        (["drain", "--repeat", "0"], "--repeat"),
        ([], "CASE"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err
