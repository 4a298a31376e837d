"""The embedded database is there for whoever connects, and gone when nobody is left."""

import os
import pwd
import shutil
import signal
import site
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from config.embedded import binaries, postmaster
from config.embedded.account import Account, identity
from tests.config.conftest import Sandbox
from tests.conftest import CHECKOUT
from tests.support.wait import until

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as others")

SYSTEM_PYTHON = f"/usr/bin/python3.{sys.version_info.minor}"
PACKAGES = site.getsitepackages()


def test_a_check_starts_nothing(sandbox: Sandbox) -> None:
    done = sandbox.run("manage.py", "check", DJANGO_SETTINGS_MODULE="config.settings.development")
    assert done.returncode == 0, done.stderr
    assert not (sandbox.path / "data").exists()
    assert not (sandbox.path / "supervisor").exists()


def test_the_first_connection_starts_it_and_the_last_user_takes_it_away(sandbox: Sandbox) -> None:
    first, second = sandbox.use(), sandbox.use()
    assert first.answer() == second.answer() != ""
    server = sandbox.server()
    assert server is not None
    first.leave()
    assert second.reconnect() != ""
    assert server.is_alive()
    second.leave()
    until(lambda: not server.is_alive(), message="the server's end after its last user")
    assert "database system is shut down" in (sandbox.path / "log").read_text()


@pytest.mark.slow
def test_what_was_written_is_there_after_a_restart(sandbox: Sandbox) -> None:
    wrote = sandbox.run("-m", "config.embedded", "psql", "-c", "CREATE TABLE kept (n int)")
    assert wrote.returncode == 0, wrote.stderr
    until(lambda: sandbox.server() is None, message="the server's end")
    read = sandbox.run("-m", "config.embedded", "psql", "-Atc", "SELECT count(*) FROM kept")
    assert read.stdout.strip() == "0", read.stderr


def test_the_database_is_utf8_with_the_same_order_everywhere(sandbox: Sandbox) -> None:
    asked = sandbox.run(
        "-m", "config.embedded", "psql", "-Atc",
        "SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = 'hubqueue'",
        "-c", "SELECT 'B' < 'a', upper('ß' || 'ä')",
        "-c", "SHOW fsync", "-c", "SHOW listen_addresses",
    )  # fmt: skip
    assert asked.stdout.split("\n")[:4] == ["UTF8", "t|ßÄ", "on", ""], asked.stderr


@pytest.mark.slow
def test_eight_racing_processes_start_one_server(sandbox: Sandbox) -> None:
    users = [sandbox.use() for _ in range(8)]
    answers = {user.answer() for user in users}
    assert len(answers) == 1, answers
    assert answers != {""}
    for user in users:
        user.leave()
    assert (sandbox.path / "log").read_text().count("starting PostgreSQL") == 1


@pytest.mark.slow
def test_a_server_whose_users_were_killed_is_stopped(sandbox: Sandbox) -> None:
    users = [sandbox.use() for _ in range(3)]
    assert all(user.answer() for user in users)
    server = sandbox.server()
    assert server is not None
    for user in users:
        user.process.kill()
        user.leave()
    until(lambda: not server.is_alive(), message="the server's end after kill -9 of its users")


@pytest.mark.slow
def test_a_killed_supervisor_is_replaced_and_its_server_adopted(sandbox: Sandbox) -> None:
    user = sandbox.use()
    started = user.answer()
    killed, server = sandbox.supervisor(), sandbox.server()
    assert server is not None
    os.kill(killed, signal.SIGKILL)
    another = sandbox.use()
    assert another.answer() == started, "the next user keeps the server that runs"
    assert sandbox.supervisor() != killed
    assert user.reconnect() == started
    user.leave()
    another.leave()
    until(lambda: not server.is_alive(), message="the end of an adopted server")


@pytest.mark.slow
def test_users_find_a_new_server_after_theirs_was_killed(sandbox: Sandbox) -> None:
    user = sandbox.use()
    started = user.answer()
    server = sandbox.server()
    assert server is not None
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: not server.is_alive())
    assert user.reconnect() not in {"", started}
    user.leave()


@pytest.mark.slow
def test_a_new_server_starts_after_server_and_supervisor_were_killed(sandbox: Sandbox) -> None:
    user = sandbox.use()
    started = user.answer()
    server = sandbox.server()
    assert server is not None
    os.kill(sandbox.supervisor(), signal.SIGKILL)
    os.kill(server.pid, signal.SIGKILL)
    assert user.reconnect() not in {"", started}
    user.leave()


def test_a_process_number_of_another_program_is_no_ready_server(tmp_path: Path) -> None:
    lines = [str(os.getpid()), str(tmp_path), "0", "5432", str(tmp_path), "", "", "ready"]
    (tmp_path / "postmaster.pid").write_text("\n".join(lines) + "\n")
    assert not postmaster.says_ready(tmp_path)
    assert postmaster.living(tmp_path) is None


@pytest.mark.slow
def test_a_stale_process_number_does_not_keep_the_server_down(sandbox: Sandbox) -> None:
    user = sandbox.use()
    user.answer()
    user.leave()
    until(lambda: sandbox.server() is None)
    data = sandbox.path / "data"
    # As after a power cut, when the number belongs to another program by now.
    stale = [str(os.getpid()), str(data), "0", "5432", str(sandbox.path / "run"), "", "", "ready"]
    (data / "postmaster.pid").write_text("\n".join(stale) + "\n")
    again = sandbox.use()
    assert again.answer() != ""
    again.leave()


def test_an_interrupted_initdb_leaves_nothing_half_made(sandbox: Sandbox) -> None:
    sandbox.path.mkdir()
    leftover = sandbox.path / "data.new.interrupted"
    leftover.mkdir()
    (leftover / "PG_VERSION").write_text("1\n")
    user = sandbox.use()
    assert user.answer() != ""
    user.leave()
    assert not leftover.exists()


def test_data_of_another_major_version_is_refused_with_the_way_out(sandbox: Sandbox) -> None:
    (sandbox.path / "data").mkdir(parents=True)
    (sandbox.path / "data" / "PG_VERSION").write_text("9\n")
    refused = sandbox.run(
        "manage.py", "migrate", DJANGO_SETTINGS_MODULE="config.settings.development"
    )
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
    sentence = refused.stderr.splitlines()[-1]
    assert "made by PostgreSQL 9" in sentence
    assert "pg_dump" in sentence
    assert "pg_restore" in sentence


@pytest.mark.slow
def test_a_start_that_fails_is_one_sentence_with_the_reason(sandbox: Sandbox) -> None:
    user = sandbox.use()
    user.answer()
    user.leave()
    until(lambda: sandbox.server() is None)
    (sandbox.path / "data" / "postgresql.conf").write_text("no_such_setting = 1\n")
    refused = sandbox.run("-m", "config.embedded")
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1, refused.stderr
    assert "did not start" in refused.stderr
    assert str(sandbox.path / "log") in refused.stderr


@pytest.mark.slow
def test_a_long_path_gets_a_short_socket_directory(sandbox: Sandbox) -> None:
    sandbox.path = sandbox.path / ("deep" * 12) / ("er" * 20)
    sandbox.env["HUBQUEUE_HOME"] = str(sandbox.path)
    sandbox.path.mkdir(parents=True)
    user = sandbox.use()
    assert user.answer() != ""
    server = sandbox.server()
    assert server is not None
    assert str(server.sockets).startswith("/tmp/hubqueue-")
    assert server.sockets.stat().st_mode & 0o777 == 0o700
    user.leave()
    shutil.rmtree(server.sockets)


@needs_root
@pytest.mark.slow
def test_root_runs_the_server_as_an_account_without_rights(sandbox: Sandbox) -> None:
    user = sandbox.use()
    user.answer()
    server = sandbox.server()
    assert server is not None
    assert Path(f"/proc/{server.pid}").stat().st_uid != 0
    user.leave()


@needs_root
@pytest.mark.slow
def test_a_checkout_the_account_cannot_reach_moves_the_home_and_says_where() -> None:
    closed = Path(tempfile.mkdtemp(dir="/tmp"))  # 0700 and root's own
    box = Sandbox(closed / "home")
    said = box.run("-m", "config.embedded", "psql", "-Atc", "SHOW data_directory")
    moved = Path(said.stdout.strip()).parent
    try:
        assert said.returncode == 0, said.stderr
        assert moved.parent == Path("/var/tmp")
        assert str(moved) in said.stderr
        assert str(box.path) in said.stderr
        assert closed.stat().st_mode & 0o777 == 0o700, "no mode of a parent is changed"
    finally:
        moved_box = Sandbox(moved)
        until(lambda: moved_box.server() is None, message="the end of the moved server")
        shutil.rmtree(moved)
        shutil.rmtree(closed)


@needs_root
@pytest.mark.slow
def test_binaries_the_account_cannot_run_are_copied(sandbox: Sandbox) -> None:
    closed = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        copied = binaries.copy(binaries.find(), closed)
        box = Sandbox(sandbox.path)
        said = box.run(
            "-m", "config.embedded", "psql", "-Atc", "SELECT 1", HUBQUEUE_PG_BIN=str(copied)
        )
        assert said.stdout.strip() == "1", said.stderr
        assert list(sandbox.path.glob("postgresql-*"))
    finally:
        until(lambda: sandbox.server() is None)
        shutil.rmtree(closed)


@needs_root
@pytest.mark.slow
def test_an_ordinary_user_runs_it_as_itself(sandbox: Sandbox) -> None:
    nobody = Account("nobody", *pwd.getpwnam("nobody")[2:4])
    python = next((each for each in (sys.executable, SYSTEM_PYTHON) if _runs(each, nobody)), None)
    if python is None:
        pytest.skip("an ordinary user can run no Python of this version here")
    os.chown(sandbox.path.parent, nobody.uid, nobody.gid)
    done = subprocess.run(
        [python, "-m", "config.embedded", "psql", "-Atc", "SHOW data_directory"],
        env=sandbox.env | {"PYTHONPATH": os.pathsep.join([str(CHECKOUT), *PACKAGES])},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
        **identity(nobody),
    )
    assert done.stdout.strip() == str(sandbox.path / "data"), done.stderr
    assert (sandbox.path / "data").stat().st_uid == nobody.uid
    assert sandbox.path.stat().st_mode & 0o777 == 0o700


def test_an_unknown_directory_of_binaries_is_refused(sandbox: Sandbox) -> None:
    refused = sandbox.run("-m", "config.embedded", HUBQUEUE_PG_BIN="/nowhere")
    assert refused.returncode == 1
    assert "HUBQUEUE_PG_BIN" in refused.stderr
    assert refused.stderr.count("\n") == 1


def _runs(python: str, account: Account) -> bool:
    try:
        return subprocess.run([python, "-c", ""], check=False, **identity(account)).returncode == 0
    except OSError:
        return False
