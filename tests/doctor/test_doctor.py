"""The doctor as a whole: a healthy queue, what it prints and exits with, and that nothing makes it crash."""

import json
import re
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from hubqueue.doctor import (
    Finding,
    Patient,
    Report,
    Severity,
    examine,
    reach,
    schema,
    server,
    timeouts,
)
from hubqueue.doctor.examine import PROBES, Probe
from hubqueue.doctor.finding import error, span, warning, well
from tests.conftest import CHECKOUT
from tests.doctor.conftest import hubqueue_settings, role_setting
from tests.support.hub import Hub
from tests.support.postgres import Cluster
from tests.support.wait import until

# The package's name for it is the function.
rounds = sys.modules["hubqueue.doctor.examine"]


def run(*arguments: str) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("hubqueue", "doctor", *arguments, stdout=out, no_color=True)
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue()
    return 0, out.getvalue()


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_healthy_queue_with_a_real_worker_has_no_finding(clinic: Cluster, tmp_path: Path) -> None:
    hub = Hub(clinic.url(), tmp_path)
    try:
        worker = hub.ready("--scheduler", "--processes", "1", "--threads", "1")
        until(lambda: hub.rows("SELECT host FROM hubqueue_leader"), timeout=60, message="a leader")
        ended = hub.manage("hubqueue", "doctor", "--json", "--threads", "1")
        said = json.loads(ended.stdout)
        assert (said["errors"], said["warnings"]) == (0, 0), ended.stdout
        assert (ended.returncode, ended.stderr) == (0, "")
        assert len(said["findings"]) == len(PROBES)
        assert worker.interrupt() == 0, worker.said()
    finally:
        hub.close()


def test_an_error_is_said_first_in_one_line_and_ends_with_1(clinic: Cluster) -> None:
    with role_setting(clinic, "synchronous_commit", "off"):
        code, out = run()
    lines = out.splitlines()
    assert code == 1
    assert lines[0].startswith(
        "error    synchronous_commit: expected synchronous_commit = on; found off"
    )
    assert " To do: " in lines[0]
    severities = [line.split()[0] for line in lines[:-1]]
    assert severities == sorted(severities, key=["error", "warning", "ok"].index)
    assert lines[-1] == f"1 error, 1 warning, {len(PROBES) - 2} ok"


def test_warnings_alone_end_with_0_and_json_says_the_same(clinic: Cluster) -> None:
    code, out = run("--json")
    said = json.loads(out)
    assert code == 0
    assert (said["errors"], said["warnings"]) == (0, 1)
    (finding,) = [each for each in said["findings"] if each["severity"] != "ok"]
    assert finding["code"] == "no_worker"
    assert set(finding) == {"severity", "code", "expected", "found", "advice"}
    assert all(finding.values())


def test_settings_that_cannot_be_read_leave_the_rest_examined(clinic: Cluster) -> None:
    with hubqueue_settings(LEASSE=1):
        code, out = run()
    assert code == 1
    assert "error    hubqueue.E000" in out
    assert "ok       database" in out


def test_a_probe_that_raises_or_hangs_harms_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(patient: Patient) -> list[Finding]:
        raise ValueError("a row's secret")

    def hangs(patient: Patient) -> list[Finding]:
        time.sleep(60)
        return []

    monkeypatch.setattr(rounds, "DEADLINE", 1.5)
    probes = [
        Probe("one", raises, "fine"),
        Probe("two", hangs, "fine"),
        Probe("three", lambda patient: [], "fine"),
    ]
    found = list(examine(Patient(), probes=probes))
    assert [each.code for each in found] == ["not_examined", "no_answer", "three"]
    assert "secret" not in "".join(each.line() for each in found)
    assert "ValueError" in found[0].found


def test_it_ends_although_every_probe_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "ALTOGETHER", -1.0)
    found = list(examine(Patient(), probes=[Probe("one", lambda patient: [], "fine")]))
    assert [each.code for each in found] == ["not_examined"]


def test_the_gravest_come_first() -> None:
    given = [well("a", "x"), warning("b", expected="x", found="y", advice="z")]
    given.append(error("c", expected="x", found="y", advice="z"))
    report = Report.of(given)
    assert [each.code for each in report.findings] == ["c", "b", "a"]
    assert report.failed
    assert not Report.of(given[:2]).failed
    assert report.findings[0].severity is Severity.ERROR


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.25, "250 ms"), (20, "20 s"), (119, "119 s"), (300, "5 min"), (9000, "2.5 h"), (345_600, "4 days")],
)  # fmt: skip
def test_lengths_are_said_as_people_say_them(seconds: float, said: str) -> None:
    assert span(seconds) == said


def test_every_code_stands_in_the_runbook() -> None:
    sources = (CHECKOUT / "hubqueue" / "doctor").glob("*.py")
    code = "\n".join(each.read_text() for each in sources)
    given = set(re.findall(r'(?:yield|return) (?:error|warning|say)\(\s*"(\w+)"', code))
    assert len(given) > 25
    given |= {
        *timeouts.SETTINGS,
        timeouts.IDLE,
        server.COMMIT,
        *(name for name, *_ in server.WANTED),
    }
    given |= {reach.UNREACHABLE, schema.MISSING, "client_check"}
    runbook = (CHECKOUT / "docs" / "runbooks.md").read_text()
    assert not {each for each in given if f"`{each}`" not in runbook}
