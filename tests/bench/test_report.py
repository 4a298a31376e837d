"""From runs to figures, a table and a file."""

import json
from pathlib import Path

from bench import report
from bench.cases import CASES
from bench.registry import Case


def test_a_figure_is_the_median_of_its_runs_and_every_rate_is_kept() -> None:
    runs = [{"rate": 10.0, "cpu": 1.0}, {"rate": 30.0, "cpu": 3.0}, {"rate": 20.0, "cpu": 2.0}]
    assert report.median(runs) == {"rate": 20.0, "cpu": 2.0, "runs": [10.0, 30.0, 20.0]}


def test_a_run_that_failed_leaves_the_figures_of_the_others_and_its_reason() -> None:
    merged = report.median([{"rate": 10.0}, {"error": "the worker ended"}, {"rate": 30.0}])
    assert merged["rate"] == 20.0
    assert merged["error"] == "the worker ended"


def test_the_table_has_a_line_per_case_a_column_per_system_and_the_ratio_to_the_best_peer() -> None:
    figures = {"hubqueue": {"rate": 3000.0}, "slow": {"rate": 500.0}, "fast": {"rate": 2000.0}}
    lines = report.table({"drain": figures}, CASES).splitlines()
    assert lines[0] == "| case | hubqueue | slow | fast | hubqueue / best peer |"
    assert lines[2] == "| drain | 3,000 | 500 | 2,000 | 1.50 |"


def test_a_case_without_a_rate_is_compared_with_nobody() -> None:
    figures = {"hubqueue": {"p50": 1.0, "p95": 2.0, "p99": 3.0}}
    assert report.table({"latency": figures}, CASES).endswith("| latency | 1.0 / 2.0 / 3.0 ms |  |")


def test_what_was_skipped_says_why_in_its_place() -> None:
    figures = {"hubqueue": {"rate": 3000.0}, "peer": {"skipped": "no bulk call"}}
    assert "| no bulk call |" in report.table({"drain": figures}, CASES)


def test_variants_of_a_case_get_a_line_each() -> None:
    def run() -> report.Figures:
        return {}

    case = Case("floor", run, "{rate:,.0f}", variants={"Django": 1, "psycopg": 2})
    text = report.table(
        {"floor": {"Django": {"rate": 1.0}, "psycopg": {"rate": 2.0}}}, {"floor": case}
    )
    assert "| Django | 1 |\n| psycopg | 2 |" in text


def test_the_file_holds_figures_by_case_and_system_and_is_added_to(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    report.write(path, {"drain": {"hubqueue": {"rate": 1.0}}})
    report.write(path, {"bulk": {"hubqueue": {"rate": 2.0}}, "drain": {"hubqueue": {"rate": 3.0}}})
    assert json.loads(path.read_text()) == {
        "drain": {"hubqueue": {"rate": 3.0}},
        "bulk": {"hubqueue": {"rate": 2.0}},
    }


def test_a_failure_of_the_queue_fails_the_run_and_a_peer_s_does_not() -> None:
    assert report.failed({"hubqueue": {"error": "x"}})
    assert not report.failed({"hubqueue": {"rate": 1.0}, "peer": {"error": "x"}})
    assert not report.failed({"hubqueue": {"skipped": "not yet"}})
