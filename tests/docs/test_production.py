"""What production.md says about roles, alerts and runbooks holds."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.conftest import CHECKOUT
from tests.docs.blocks import anchors, blocks
from tests.support.postgres import Cluster

PRODUCTION = CHECKOUT / "docs" / "production.md"
RUNBOOKS = CHECKOUT / "docs" / "runbooks.md"


def test_every_alert_leads_to_a_runbook_that_names_it() -> None:
    (rules,) = blocks(PRODUCTION, "yaml")
    alerts = re.findall(r'alert: (\w+).*?runbook: "docs/runbooks.md#([\w-]+)"', rules.text, re.S)
    assert len(alerts) == rules.text.count("alert:")
    assert not [name for name, anchor in alerts if anchor not in anchors(RUNBOOKS)]
    text = RUNBOOKS.read_text()
    assert not [name for name, _ in alerts if not re.search(rf"\*Alert: [^*]*\b{name}\b", text)]


def test_every_alert_in_the_runbooks_is_a_rule() -> None:
    named = {
        name.strip()
        for names in re.findall(r"\*Alert: ([^*]+)\.\*", RUNBOOKS.read_text())
        for name in names.split(",")
    }
    (rules,) = blocks(PRODUCTION, "yaml")
    assert named == set(re.findall(r"alert: (\w+)", rules.text))


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as made:
        yield made


def manage(url: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=CHECKOUT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings.test",
            "DATABASE_URL": url,
            "PYTHONPATH": str(CHECKOUT),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_web_and_worker_need_no_more_than_the_role_of_production(cluster: Cluster) -> None:
    owner = cluster.url()
    manage(owner, "migrate", "-v0")
    (grants,) = blocks(PRODUCTION, "sql")
    for statement in re.sub(r"--.*", "", grants.text).split(";"):
        if statement.strip():
            cluster.execute(statement)

    app = owner.replace(f"{cluster.user}@", "hubqueue_app@")
    manage(app, "shell", "-c", "from leads.handlers import seed; seed.enqueue()")
    manage(app, "hubqueue", "pause", "--kind", "other.kind", "--reason", "a test")
    manage(app, "runworker", "--until-idle")

    states = cluster.execute("SELECT DISTINCT state FROM hubqueue_job")
    assert states == [("SUCCEEDED",)]
    (owns,) = cluster.execute("SELECT rolsuper FROM pg_roles WHERE rolname = 'hubqueue_app'")
    assert owns == (False,)
