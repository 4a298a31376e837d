"""A crash of the server that loses a claim: the fence it gave is never given again."""

import os
import subprocess
import sys
from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest

from tests.conftest import CHECKOUT
from tests.support.postgres import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    # The log is written ten seconds late, unless somebody commits synchronously.
    settings = {"wal_writer_delay": "10s", "autovacuum": "off"}
    with Cluster(settings=settings) as postgres:
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
            env={
                **os.environ,
                "DATABASE_URL": postgres.url(),
                "DJANGO_SETTINGS_MODULE": "config.settings.test",
            },
            cwd=CHECKOUT,
            check=True,
        )
        yield postgres


def enqueue(cluster: Cluster) -> None:
    cluster.execute(
        "INSERT INTO hubqueue_job (id, kind, queue, priority, payload, state, run_at, attempts, max_attempts,"
        " fence, suspect, meta, created_at) VALUES (gen_random_uuid(), 'k', 'default', 0, '{}', 'READY',"
        " hubqueue_now(), 0, 3, 0, false, '{}', hubqueue_now())"
    )


def claim(cluster: Cluster) -> int:
    with psycopg.connect(cluster.url(), autocommit=True) as connection:
        row = connection.execute(
            "SELECT jobs -> 0 ->> 11 FROM hubqueue_claim(%s, %s, 1, '{k}')",
            [uuid4(), '[{"queue": "default", "room": 1, "turns": {}, "floors": {}}]'],
        ).fetchone()
    assert row is not None, "the job is due"
    return int(row[0])


def test_a_lost_claim_leaves_the_job_ready_and_its_fence_is_never_given_again(
    cluster: Cluster,
) -> None:
    for _ in range(5):
        cluster.execute("TRUNCATE hubqueue_job CASCADE")
        enqueue(cluster)
        lost = claim(cluster)
        cluster.restart("immediate")
        ((state, attempts, fence),) = cluster.execute(
            "SELECT state, attempts, fence FROM hubqueue_job"
        )
        if state == "READY":
            break
    assert (state, attempts, fence) == ("READY", 0, 0), "no claim was lost in five crashes"
    assert claim(cluster) > lost
