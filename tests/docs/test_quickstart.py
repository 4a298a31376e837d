"""The quickstart, followed to the letter: its files written, its commands run, on a server of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT
from tests.docs.blocks import Block, blocks
from tests.support.postgres import Cluster

QUICKSTART = CHECKOUT / "docs" / "quickstart.md"


class Project:
    """A fresh project outside the checkout that finds `hubqueue` on its path and nothing else of it."""

    def __init__(self, home: Path, url: str, cluster: Cluster) -> None:
        self.path = home / "project"
        self.path.mkdir()
        packages = home / "site-packages"
        packages.mkdir()
        (packages / "hubqueue").symlink_to(CHECKOUT / "hubqueue")
        self.env = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": str(home),
            "PYTHONPATH": str(packages),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PGHOST": str(cluster.sockets),
            "PGPORT": str(cluster.port),
            "PGUSER": cluster.user,
        }
        if "TMPDIR" in os.environ:
            self.env["TMPDIR"] = os.environ["TMPDIR"]

    def write(self, block: Block) -> None:
        assert block.file
        file = self.path / block.file
        if "append" in block.info:
            file.write_text(f"{file.read_text()}\n{block.text}")
        else:
            file.write_text(block.text)

    def run(self, line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.path,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"$ {line}\n{done.stdout}"
        return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Cluster() as cluster:
        cluster.create_database("shop")
        yield Project(tmp_path, cluster.url("shop"), cluster)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_whoever_follows_the_quickstart_ends_with_a_working_queue(project: Project) -> None:
    said: dict[str, list[str]] = {}
    for block in blocks(QUICKSTART):
        if block.file:
            project.write(block)
        elif "run" in block.info:
            for line in block.lines():
                said.setdefault(line, []).append(project.run(line))

    before, after = said["python manage.py hubqueue counts"]
    assert "billing.number due 1" in before
    assert after == ""
    (worker,) = said["python manage.py runworker --until-idle"]
    assert "Subject: Invoice 1" in worker
    look = (
        "from billing.models import Invoice; from hubqueue.models import Job;"
        " print([(i.number, i.sent_at is not None) for i in Invoice.objects.all()],"
        " sorted(Job.objects.values_list('kind', 'state')))"
    )
    assert (
        "[(1, True)] [('billing.number', 'SUCCEEDED'), ('billing.send', 'SUCCEEDED')]"
        in project.run(f'python manage.py shell -c "{look}"')
    )


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_pages_of_the_queue_work_in_a_project_that_has_only_the_package(
    project: Project,
) -> None:
    for block in blocks(QUICKSTART):
        if block.file and block.file != "billing/tests.py":
            project.write(block)
        elif "run" in block.info and "startproject" in block.text:
            for line in block.lines():
                project.run(line)
    project.run("python manage.py makemigrations billing && python manage.py migrate")
    (project.path / "look.py").write_text(
        "from django.contrib.auth.models import User\n"
        "from django.test import Client\n"
        "from billing.services import issue\n"
        "from hubqueue.models import Job\n"
        "issue('ada@example.org', 4200)\n"
        "client = Client()\n"
        "client.force_login(User.objects.create_superuser('officer'))\n"
        "job = Job.objects.get()\n"
        "for url in ('/admin/hubqueue/job/', f'/admin/hubqueue/job/{job.pk}/change/',\n"
        "            '/admin/hubqueue/worker/', '/admin/hubqueue/pause/', '/admin/',\n"
        "            f'/api/jobs/{job.pk}/', '/healthz', '/readyz', '/metrics'):\n"
        "    answer = client.get(url, follow=True, headers={'host': 'localhost'})\n"
        "    print(url.replace(str(job.pk), 'ID'), answer.status_code)\n"
    )
    said = project.run("python manage.py shell < look.py")
    answers = dict(line.split() for line in said.splitlines() if line.startswith("/"))
    assert len(answers) == 9, said
    assert set(answers.values()) == {"200"}, answers
