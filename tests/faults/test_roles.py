"""What an administrator may set on the role or the database: workers keep their promises under it, or wait."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from signal import SIGKILL
from uuid import uuid4

import psycopg
import pytest

from tests.faults.load import BRISK
from tests.faults.site import Site
from tests.support.postgres import Cluster
from tests.support.wait import until
from tests.support.workers import send

CUT = {"connection_lost"}
SETTINGS = [
    ("default_transaction_isolation", "serializable"),
    ("default_transaction_isolation", "repeatable read"),
    ("statement_timeout", "200ms"),
    ("idle_in_transaction_session_timeout", "100ms"),
    ("lock_timeout", "100ms"),
    ("idle_session_timeout", "100ms"),
]


@contextmanager
def set_on_role(site: Site, postgres: Cluster, setting: str, value: str) -> Iterator[None]:
    """For every session that begins from now on: those that stand are cut, and a child and a scheduler start anew."""
    (row,) = site.hub.rows("SELECT current_database() AS name")
    where = f'ALTER ROLE {postgres.user} IN DATABASE "{row["name"]}"'
    postgres.execute(f"{where} SET {setting} = '{value}'", "postgres")
    try:
        postgres.terminate_backends()
        send(site.trees[0].regular()[0].pid, SIGKILL)
        yield
    finally:
        postgres.execute(f"{where} RESET {setting}", "postgres")
        postgres.terminate_backends()


@pytest.mark.parametrize(("setting", "value"), SETTINGS)
def test_work_goes_on_under(site: Site, postgres: Cluster, setting: str, value: str) -> None:
    """Of what a role may say, only the time granted to a statement or a lock reaches handlers: and then unspent."""
    with set_on_role(site, postgres, setting, value):
        site.load.goes_on(50)
        hold_up(site, ["burden.plain", "burden.detached"])
        site.check(explained=CUT | {"worker_died", "row_busy"})
    site.check(explained=CUT)


def hold_up(site: Site, kinds: list[str]) -> None:
    """Lock the rows of running jobs for longer than the settings grant, as an enqueuer does in a long transaction."""
    with psycopg.connect(site.hub.url) as locker:
        locker.execute("SET idle_in_transaction_session_timeout = 0")
        for kind in kinds:
            name = f"held up {kind} {uuid4()}"
            site.hub.rows("INSERT INTO burden_wanted (name) VALUES (%s)", [name])
            (job,) = site.hub.put(kind, [{"name": name, "seconds": 0.5}])
            until(lambda job=job: site.hub.job(job)["state"] == "RUNNING", message="its run")  # type: ignore[misc]
            locker.execute("SELECT FROM hubqueue_job WHERE id = %s FOR UPDATE", [job])
        time.sleep(1)  # the length of the wait is what is tried


def test_workers_wait_while_the_role_may_only_read(site: Site, postgres: Cluster) -> None:
    with set_on_role(site, postgres, "default_transaction_read_only", "on"):
        until(
            lambda: any("25006" in line for line in site.load.refusals()),
            message="a refusal to enqueue",
        )
        time.sleep(1.25 * BRISK["LEASE"])  # the length of the fault is what is tried
    site.check(explained=CUT | {"worker_died"})
