"""The demo, as a person starts it: it ends by itself or on a signal, and can be started again."""

import json
import os
import random
import shlex
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from email import message_from_bytes, policy
from pathlib import Path

import psycopg
import pytest
from django.contrib.auth.models import User

import demo as demo_package
from backups.keys import MasterKey
from backups.models import BackupRun
from demo.generate import events, messy, registration
from leads.models import LeadProvenance, LeadRequest, Registration
from tests.backups.data.databases import database
from tests.conftest import _url
from tests.support.postgres import free_port
from tests.support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]
CHECKOUT = Path(__file__).resolve().parent.parent.parent
KEYS = MasterKey("demo", bytes(range(32))).text


def start(env, *words):
    return subprocess.Popen(
        [sys.executable, "manage.py", "demo", *words],
        cwd=CHECKOUT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def mailing(process_env, folder):
    return {**process_env, "MAIL_URL": folder.as_uri(), "MAIL_FROM": "hubqueue@demo.example"}


def keeping(process_env, volume):
    volume.mkdir()
    return {**process_env, "BACKUPS_VOLUME": str(volume), "BACKUPS_KEYS": KEYS}


def test_until_idle_it_makes_leads_and_a_backup_once_and_says_so_in_one_json_object(
    process_env, tmp_path
):
    answers = []
    env = keeping(mailing(process_env, tmp_path / "mail"), tmp_path / "backups")
    for _ in range(2):
        process = start(env, "--until-idle", "--json")
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        answers.append(json.loads(out.strip().splitlines()[-1]))
        if len(answers) == 1:
            assert "password" in out
            assert str(tmp_path / "mail") in out
    first, second = answers
    assert set(first) == {"jobs", "leads", "mails", "backups", "seconds"}
    assert {state for states in second["jobs"].values() for state in states} == {"SUCCEEDED"}
    assert (first["mails"], second["mails"]) == (1, 0)
    (kept,) = (tmp_path / "mail").glob("*.eml")
    said = message_from_bytes(kept.read_bytes(), policy=policy.default)
    assert said["To"] == "officer@demo.example"
    assert "Pottery Evenings" in said["Subject"]
    assert "http://127.0.0.1:8000/notifications/unsubscribe/" in said["List-Unsubscribe"]
    assert said["List-Unsubscribe"].strip("<>") in said.get_body(("plain",)).get_content()
    assert first["jobs"]["leads.generate"] == {"SUCCEEDED": 1}
    assert first["leads"]["created"] == LeadProvenance.objects.count() > 500
    assert first["leads"]["grown"] > 0
    assert second["leads"] == {"created": 0, "grown": 0}
    assert Registration.objects.count() > 1500
    assert not LeadRequest.objects.open().exists()
    assert User.objects.filter(is_superuser=True).count() == 1
    assert first["backups"] == second["backups"] == {"SUCCEEDED": 1}
    assert second["jobs"]["backups.verify"] == {"SUCCEEDED": 2}
    run = BackupRun.objects.get()
    assert (run.findings, run.rows > 1500) == ([], True)
    assert [each.name for each in (tmp_path / "backups" / "demo").iterdir()] == [run.archive]
    assert comes_back(out, env) == Registration.objects.count()


def comes_back(out, env):
    """Do as the demo says, in an empty database; how many registrations are there then."""
    told = [shlex.split(line) for line in out.splitlines() if "./dev manage" in line]
    assert [words[:3] for words in told] == [
        ["./dev", "manage", "migrate"],
        ["./dev", "manage", "backups"],
    ]
    with database("elsewhere") as empty:
        for words in told:
            subprocess.run(
                [sys.executable, "manage.py", *words[2:]],
                cwd=CHECKOUT, env={**env, "DATABASE_URL": _url(empty.settings_dict)},
                capture_output=True, check=True, timeout=90,
            )  # fmt: skip
        with psycopg.connect(_url(empty.settings_dict)) as there:
            return there.execute("SELECT count(*) FROM leads_registration").fetchone()[0]


def test_jobs_that_wait_for_a_retry_are_listed_and_the_exit_code_says_so(process_env):
    env = {**process_env, "LEADS_SINK": "leads.sinks.RefusingSink"}
    process = start(env, "--until-idle", "--json")
    out, _ = process.communicate(timeout=120)
    said = json.loads(out.strip().splitlines()[-1])
    assert said["leads"] == {"created": 0, "grown": 0}
    assert said["backups"] == {}
    assert process.returncode == 1
    assert "leads.sink_not_wired" in out


def test_a_port_in_use_is_one_clear_sentence(process_env):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = start(process_env, "--port", str(port))
        _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert f"Port {port}" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_and_the_worker(process_env, number):
    port = free_port()
    mark = {"HUBQUEUE_TEST_MARK": f"demo-{port}"}
    process = start({**process_env, **mark}, "--port", str(port))
    try:
        until(lambda: _answers(port), timeout=90, message="the login page")
        until(lambda: _marked(mark) >= 3, message="demo, server and worker")
        process.send_signal(number)
        process.communicate(timeout=60)
        assert process.returncode == 0
        until(lambda: _marked(mark) == 0, timeout=10, message="no process left")
    finally:
        if process.poll() is None:
            process.kill()


def test_a_demo_that_is_killed_leaves_no_server_and_no_worker(process_env):
    port = free_port()
    mark = {"HUBQUEUE_TEST_MARK": f"demo-{port}"}
    process = start({**process_env, **mark}, "--port", str(port))
    until(lambda: _answers(port), timeout=90, message="the login page")
    until(lambda: _marked(mark) >= 3, message="demo, server and worker")
    process.kill()
    process.communicate(timeout=60)
    until(lambda: _marked(mark) == 0, timeout=60, message="no process left")


def test_the_web_server_serves_styles_without_debug_and_warns_of_nothing(process_env, tmp_path):
    port = free_port()
    env = {
        **keeping(process_env, tmp_path / "backups"),
        "DJANGO_SETTINGS_MODULE": "config.settings.development",
        "PYTHONWARNINGS": "always",
    }
    process = start(env, "--port", str(port))
    try:
        until(lambda: _answers(port), timeout=90, message="the login page")
        for name in ("admin/css/base.css", "hubqueue/admin.css"):
            address = f"http://127.0.0.1:{port}/static/{name}"
            with urllib.request.urlopen(address, timeout=10) as answer:
                assert answer.headers["Content-Type"].startswith("text/css")
                assert len(answer.read()) > 1000
    finally:
        process.terminate()
        out, err = process.communicate(timeout=60)
    said = (out + err).lower()
    assert "starting development server" in said
    assert "no directory at" not in said
    assert "do not use it in a production setting" not in said


def test_the_files_are_what_their_generator_makes():
    folder = Path(demo_package.__file__).parent
    chance = random.Random(20260701)
    assert (folder / "events.csv").read_text().splitlines()[1:] == [
        ",".join(row) for row in events(chance)
    ]
    rows = [registration(chance, number) for number in range(1, 1501)]
    assert (folder / "registrations.csv").read_text().count("\n") == len(rows) + 1
    assert (folder / "registrations-messy.csv").read_bytes() == messy(chance)


def _answers(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/admin/login/", timeout=2) as answer:
            return answer.status == 200
    except (OSError, urllib.error.URLError):
        return False


def _marked(mark):
    """How many living processes carry the mark in their environment."""
    ((name, value),) = mark.items()
    wanted = f"{name}={value}".encode()
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            found += wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
    return found
