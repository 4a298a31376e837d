"""`manage.py hubqueue`: what it does, says and exits with."""

import subprocess
import sys
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from hubqueue import gauges
from hubqueue.ids import uuid7
from hubqueue.models import Operation, Pause
from hubqueue.states import State
from tests.conftest import CHECKOUT
from tests.officers.conftest import KIND, MakeJob, state_of

pytestmark = pytest.mark.django_db(transaction=True)


def run(*arguments: object) -> tuple[int, str, str]:
    """The exit code, standard output and standard error of the command."""
    out, err = StringIO(), StringIO()
    try:
        call_command("hubqueue", *map(str, arguments), stdout=out, stderr=err)
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue(), err.getvalue()
    except CommandError as refused:
        return refused.returncode, out.getvalue(), str(refused)
    return 0, out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("verb", "before", "after"),
    [
        ("park", State.READY, State.PARKED),
        ("release", State.PARKED, State.READY),
        ("run-now", State.PARKED, State.READY),
        ("cancel", State.READY, State.CANCELLED),
        ("redrive", State.DEAD, State.READY),
        ("dismiss", State.DEAD, State.CANCELLED),
    ],
)
def test_each_verb_is_done_and_logged(
    verb: str, before: State, after: State, make_job: MakeJob
) -> None:
    job = make_job(before)
    code, out, err = run(verb, job.pk, "--reason", "because", "--actor", "ops")

    assert (code, err) == (0, "")
    assert f"{job.pk} {after}" in out
    entry = Operation.objects.get(job_id=job.pk)
    assert (entry.actor, entry.reason) == ("ops", "because")


def test_what_is_refused_gets_a_line_each_and_exit_code_1(make_job: MakeJob) -> None:
    fits, does_not, nobody = make_job(), make_job(State.DEAD), uuid7()
    code, out, err = run("park", fits.pk, does_not.pk, nobody, "--reason", "because")

    assert code == 1
    assert len(err.strip().splitlines()) == 2
    assert f"{does_not.pk} refused (wrong_state)" in err
    assert f"{nobody} refused (unknown_job)" in err
    assert "1 done, 2 refused" in out
    assert state_of(fits.pk) == State.PARKED


@pytest.mark.parametrize(
    "arguments",
    [
        ["park", "x", "--reason", "because"],
        ["park", str(uuid7()), "--reason", "  "],
        ["redrive", "--reason", "because"],
        ["redrive", str(uuid7()), "--kind", "k", "--reason", "because"],
        ["pause", "--queue", "q", "--reason", "r", "--until", "tomorrow"],
        ["pause", "--queue", "q", "--reason", "r", "--until", "2026-12-01T06:00"],
        ["pause", "--queue", "q", "--reason", "r", "--until", "2026-13-01T06:00+00:00"],
        ["why", "x"],
    ],
)
def test_wrong_values_are_one_sentence_and_exit_code_2(arguments: list[str]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], 2),
        (["steal"], 2),
        (["park"], 2),
        (["park", str(uuid7())], 2),
        (["pause", "--reason", "r"], 2),
        (["pause", "--queue", "a", "--kind", "b", "--reason", "r"], 2),
        (["park", "x", "--reason", "r"], 2),
        (["park", str(uuid7()), "--reason", "r"], 1),
        (["why", str(uuid7())], 1),
        (["workers"], 0),
    ],
)
def test_the_process_exits_as_promised_and_prints_no_traceback(
    arguments: list[str], expected: int, process_env: dict[str, str]
) -> None:
    ended = subprocess.run(
        [sys.executable, "manage.py", "hubqueue", *arguments],
        cwd=CHECKOUT,
        env=process_env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == expected, ended.stderr
    assert "Traceback" not in ended.stderr


def test_dead_letters_are_redriven_by_filter(make_job: MakeJob) -> None:
    chosen = [make_job(State.DEAD, error_code="refused", tenant_id="t") for _ in range(3)]
    spared = [
        make_job(State.DEAD, error_code="other", tenant_id="t"),
        make_job(State.DEAD, error_code="refused", tenant_id="u"),
        make_job(State.DEAD, error_code="refused", tenant_id="t", queue="mail"),
    ]
    by = ["--kind", KIND, "--code", "refused", "--queue", "default", "--tenant", "t"]

    code, out, _ = run("redrive", *by, "--dry-run", "--reason", "fixed")
    assert code == 0
    assert "3 would be tried" in out
    assert all(str(job.pk) in out for job in chosen)
    assert not Operation.objects.exists()

    code, out, _ = run("redrive", *by, "--reason", "fixed")
    assert (code, "3 done, 0 refused" in out) == (0, True)
    assert {state_of(job.pk) for job in chosen} == {State.READY}
    assert {state_of(job.pk) for job in spared} == {State.DEAD}


def test_a_dead_letter_whose_key_is_taken_is_refused(make_job: MakeJob) -> None:
    dead = make_job(State.DEAD, dedupe_key="key")
    standing = make_job(dedupe_key="key")
    code, _, err = run("redrive", dead.pk, "--reason", "fixed")
    assert code == 1
    assert f"superseded by {standing.pk}" in err


@pytest.mark.parametrize("scope", ["queue", "kind", "tenant"])
def test_a_scope_is_paused_and_resumed(scope: str) -> None:
    until = "2100-01-01T00:00+01:00"
    assert run("pause", f"--{scope}", "x", "--reason", "r", "--until", until)[0] == 0
    pause = Pause.objects.get(scope=scope, value="x")
    assert pause.until is not None
    assert pause.until.astimezone().utcoffset() is not None
    assert pause.until.isoformat() == "2099-12-31T23:00:00+00:00"

    assert run("resume", f"--{scope}", "x", "--reason", "r")[0] == 0
    assert not Pause.objects.exists()
    code, _, err = run("resume", f"--{scope}", "x", "--reason", "r")
    assert code == 1
    assert "not_paused" in err


def test_why_is_answered(make_job: MakeJob) -> None:
    job = make_job(State.PARKED, park_reason="wait for Ada")
    code, out, _ = run("why", job.pk)
    assert code == 0
    assert out.startswith("parked: ")
    assert "wait for Ada" in out


def test_workers_are_listed_with_their_lease(make_worker) -> None:
    alive, gone = make_worker(), make_worker(lease=timedelta(minutes=-1))
    _, out, _ = run("workers")
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert "alive" in lines[str(alive.pk)]
    assert "lease passed" in lines[str(gone.pk)]


def test_counts_are_per_kind_and_state(make_job: MakeJob) -> None:
    make_job()
    make_job(State.DEAD)
    gauges.current.forget()
    _, out, _ = run("counts")
    assert f"{KIND} due 1" in out
    assert f"{KIND} dead 1" in out
