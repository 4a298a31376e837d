"""The event log: one line per thing an operator must know, and nothing that quotes a row."""

import json
import logging
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test.utils import override_settings

from hubqueue import logs, signals
from hubqueue.states import Move, State

JOB = uuid4()


def ended(state: State, outcome: Move, code: str) -> signals.Ending:
    return signals.Ending(JOB, "sample.typed", "mail", state, outcome, code, 0.12345, 2)


@pytest.fixture(autouse=True)
def json_lines() -> Iterator[None]:
    with override_settings(HUBQUEUE_LOG_FORMAT="json"):
        logs.configure()
        yield
    logs.configure()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_a_failed_attempt_is_a_warning_and_a_dead_letter_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    signals.jobs_settled.send(
        None,
        endings=[
            ended(State.READY, Move.RETRY, "refused"),
            ended(State.DEAD, Move.GIVE_UP, "refused"),
            ended(State.SUCCEEDED, Move.SUCCEED, ""),
        ],
        payload="secret-payload",
        message="secret-message",
    )

    retry, dead = lines(capsys)
    assert (retry["event"], retry["level"]) == ("attempt failed", "warning")
    assert (dead["event"], dead["level"]) == ("dead letter", "error")
    assert (dead["kind"], dead["code"], dead["attempt"]) == ("sample.typed", "refused", 2)
    assert dead["job"] == str(JOB)
    assert "secret-" not in json.dumps([retry, dead])


def test_verbs_rescues_leases_and_workers_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    signals.verb_done.send(None, verb=Move.PARK, target="job", actor="ada")
    signals.job_rescued.send(None, job_id=JOB, kind="k", queue="q", cause="reaped", spent=True)
    signals.lease_lost.send(None, kind="k")
    signals.worker_changed.send(None, worker="w", event="killed")

    said = lines(capsys)
    assert [each["event"] for each in said] == [
        "officer's verb",
        "job rescued",
        "lease lost",
        "worker killed",
    ]
    assert said[0]["actor"] == "ada"
    assert said[1]["spent"] is True


def test_a_line_break_in_a_value_cannot_forge_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    signals.verb_done.send(None, verb="park", target="x\n{}", actor='ada\n{"event": "forged"}')
    assert len(lines(capsys)) == 1


def test_the_console_form_is_readable(capsys: pytest.CaptureFixture[str]) -> None:
    with override_settings(HUBQUEUE_LOG_FORMAT="console"):
        logs.configure()
        signals.lease_lost.send(None, kind="k")
    assert "lease lost" in capsys.readouterr().err


def test_another_form_is_refused() -> None:
    with (
        override_settings(HUBQUEUE_LOG_FORMAT="xml"),
        pytest.raises(ImproperlyConfigured) as refused,
    ):
        logs.configure()
    assert "json, console" in str(refused.value)


def test_a_quieter_level_is_respected(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(logs.LOGGER), "level", logging.ERROR)
    logging.getLogger(logs.LOGGER).manager._clear_cache()
    signals.lease_lost.send(None, kind="k")
    assert lines(capsys) == []
