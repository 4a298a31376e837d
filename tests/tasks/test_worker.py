"""A project that uses ``@task`` and nothing else, with a real worker."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from signal import SIGTERM
from typing import Any

import pytest

from hubqueue.models import Job
from tests.support.wait import until
from tests.tasks.conftest import OWN, THEIRS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

SETTINGS = f"""
import os
from config.database import database

SECRET_KEY = "only-for-this-test"
USE_TZ = True
DATABASES = {{"default": database(os.environ["DATABASE_URL"])}}
INSTALLED_APPS = ["shop", "hubqueue"] + {[THEIRS] if THEIRS == "django_tasks" else []}
TASKS = {{
    "default": {{"BACKEND": "{OWN}"}},
    "exact": {{"BACKEND": "{OWN}", "OPTIONS": {{"transactional": True}}}},
}}
"""
# Imported before Django's registry of apps is ready.
PACKAGE = f"""
from {THEIRS} import task

@task
def early():
    return "early"
"""
FUNCTIONS = f"""
import asyncio
import os

from {THEIRS} import task
from django.db import connection

@task
def where():
    return os.getpid()

@task(priority=50, takes_context=True)
def attempt(context, word):
    return [word, context.attempt, context.task_result.worker_ids]

@task
async def later(seconds):
    await asyncio.sleep(seconds)
    return "slept"

@task(backend="exact")
def exact():
    return connection.in_atomic_block

@task
def fail():
    raise LookupError("s3cret")
"""
ENQUEUE = """
import django, json
django.setup()
from shop import early
from shop.functions import attempt, exact, fail, later, where
results = [early.enqueue(), where.enqueue(), attempt.enqueue(word="x")]
results += [later.enqueue(0.05), exact.enqueue(), fail.enqueue()]
print(json.dumps([each.id for each in results]))
"""
READ = """
import django, json, sys
django.setup()
from {framework} import default_task_backend
found = [default_task_backend.get_result(each) for each in json.loads(sys.argv[1])]
print(json.dumps([
    [each.status, each.return_value if each.status == "SUCCESSFUL" else None, each.worker_ids,
     [(error.exception_class_path, error.traceback) for error in each.errors]]
    for each in found
]))
"""


class Project:
    """A directory with settings and an application, and the processes that use it."""

    def __init__(self, home: Path, env: dict[str, str]) -> None:
        (home / "shop").mkdir()
        (home / "shop_settings.py").write_text(SETTINGS)
        (home / "shop" / "__init__.py").write_text(PACKAGE)
        (home / "shop" / "functions.py").write_text(FUNCTIONS)
        self.home = home
        self.env = env | {
            "DJANGO_SETTINGS_MODULE": "shop_settings",
            "PYTHONPATH": f"{home}:{env['PYTHONPATH']}",
        }
        self.log = home / "worker.log"
        self.worker: subprocess.Popen[bytes] | None = None

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.home,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self) -> subprocess.Popen[bytes]:
        with self.log.open("wb") as sink:
            self.worker = subprocess.Popen(
                [sys.executable, "-m", "django", "runworker", "--no-scheduler"],
                cwd=self.home,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
            )
        return self.worker


@pytest.fixture
def project(process_env: dict[str, str], tmp_path: Path) -> Iterator[Project]:
    made = Project(tmp_path, process_env)
    yield made
    if made.worker is not None and made.worker.poll() is None:
        made.worker.terminate()
        made.worker.wait(timeout=60)


def test_declared_functions_run_in_the_worker_and_answer(project: Project) -> None:
    assert "no issues" in project.run("-m", "django", "check")
    worker = project.start()
    ids = json.loads(project.run("-c", ENQUEUE))

    def all_done() -> bool:
        assert worker.poll() is None, project.log.read_text()
        return Job.objects.finished().count() == len(ids)

    until(all_done, timeout=60, message="the end of all functions")
    early, where, attempt, later, exact, failed = _read(project, ids)

    assert early[:2] == ["SUCCESSFUL", "early"]
    assert where[0] == "SUCCESSFUL"
    assert where[1] != worker.pid
    assert attempt[:3] == ["SUCCESSFUL", ["x", 1, attempt[2]], early[2]]
    assert later[:2] == ["SUCCESSFUL", "slept"]
    assert exact[:2] == ["SUCCESSFUL", True]
    (path, traceback), *others = failed[3]
    assert (failed[0], path, others) == ("FAILED", "builtins.LookupError", [])
    assert "shop/functions.py" in traceback

    worker.send_signal(SIGTERM)
    assert worker.wait(timeout=60) == 0
    said = project.log.read_text()
    assert "s3cret" not in said + traceback


def _read(project: Project, ids: list[str]) -> Any:
    return json.loads(project.run("-c", READ.format(framework=THEIRS), json.dumps(ids)))
