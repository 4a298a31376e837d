"""What the figures are made of: the log of starts, the processes, the server's log."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import installs, processes, starts
from bench.cases.drain import all_at_work
from bench.errors import Broken, Skipped
from bench.server import Server


def test_every_body_that_began_is_in_the_log_in_order(tmp_path: Path) -> None:
    log = tmp_path / "starts"
    program = "from bench.starts import note\nnote(7)\nnote(8)"
    environment = os.environ | {starts.VARIABLE: str(log)}
    subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, cwd=installs.CHECKOUT
    )
    assert [start.number for start in starts.read(log)] == [7, 8]
    assert starts.count(log) == 2


def test_a_record_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "starts"
    log.write_bytes(starts.RECORD.pack(1.0, 7, 1) + b"torn")
    assert starts.read(log) == [starts.Start(1.0, 7, 1)]


def test_the_clock_starts_when_the_last_process_is_at_work() -> None:
    log = [starts.Start(1.0, 1, 10), starts.Start(2.0, 2, 10), starts.Start(3.0, 3, 11)]
    assert all_at_work(log, 1) == 1.0
    assert all_at_work(log, 2) == 3.0


def test_a_process_that_got_no_job_spoils_the_run() -> None:
    with pytest.raises(Broken, match="1 of 2 processes got a job"):
        all_at_work([starts.Start(1.0, 1, 10)], 2)


def test_memory_and_time_are_those_of_the_whole_tree() -> None:
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE) as root:
        while len(pids := processes.tree([root.pid])) < 2:
            assert root.poll() is None
        assert processes.resident_mib(pids) > processes.resident_mib([root.pid]) > 0
        assert processes.cpu_seconds(pids) >= 0
        root.communicate(b"\n")
    assert processes.tree([root.pid]) == []


def test_statements_are_counted_for_one_database_from_a_mark_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    before = "ours LOG:  statement: BEGIN\n"
    log.write_text(
        before
        + "ours LOG:  statement: COMMIT\n"
        + "ours LOG:  execute <unnamed>: SELECT 1\n"
        + "theirs LOG:  statement: BEGIN\n"
        + "ours LOG:  checkpoint starting\n"
    )
    assert Server("", log).statements("ours", since=len(before)) == 2


def test_hubqueue_comes_first_and_every_peer_says_what_it_installs() -> None:
    first, *peers = installs.names()
    assert first == "hubqueue"
    assert {"procrastinate", "pgqueuer", "django-tasks-db", "graphile-worker"} <= set(peers)
    for peer in peers:
        assert (installs.SYSTEMS / f"{peer.replace('-', '_')}.txt").read_text()


def test_a_peer_on_node_is_skipped_in_a_sentence_where_there_is_no_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installs, "HOME", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Skipped, match="needs node and npm"):
        installs.command("graphile-worker")


def test_a_peer_sees_nothing_of_this_project_s_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://nobody@nowhere/nothing")
    environment = installs.environment("pgqueuer")
    assert "DATABASE_URL" not in environment
    assert "DJANGO_SETTINGS_MODULE" not in environment
