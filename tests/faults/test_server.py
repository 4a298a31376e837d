"""The server cuts sessions, falls over, or has no room: everybody waits, and nobody pays."""

import time
from contextlib import suppress
from typing import LiteralString

import psycopg

from tests.faults.load import BRISK
from tests.faults.site import Site
from tests.support.postgres import Cluster

CAUSES = {"connection_lost"}


def test_all_sessions_are_cut_again_and_again(site: Site, postgres: Cluster) -> None:
    for _ in range(5):
        postgres.terminate_backends()
        time.sleep(0.4)  # so that they are cut in the middle of connecting, claiming and working
    site.check(explained=CAUSES)


def test_the_server_falls_over_twice_under_load(site: Site, postgres: Cluster) -> None:
    for _ in range(2):
        postgres.restart("immediate")
        site.load.goes_on(5)
    site.check(explained=CAUSES)


def test_a_rival_takes_every_connection_for_longer_than_a_lease(
    site: Site, postgres: Cluster
) -> None:
    rivals: list[psycopg.Connection[tuple[object, ...]]] = []

    def take_all() -> None:
        with suppress(psycopg.OperationalError):
            while True:
                rivals.append(psycopg.connect(postgres.url("postgres"), autocommit=True))

    try:
        take_all()
        full_since = time.monotonic()
        while time.monotonic() - full_since < 1.25 * BRISK["LEASE"]:
            if sessions_of_the_queue(rivals[0], "pg_terminate_backend(pid)"):
                full_since = time.monotonic()  # some were quicker than the rival
            take_all()
            time.sleep(0.05)
    finally:
        for rival in rivals:
            rival.close()
    site.check(explained=CAUSES)


def sessions_of_the_queue(
    session: psycopg.Connection[tuple[object, ...]], deed: LiteralString
) -> int:
    """How many there are, with something done to each."""
    cursor = session.execute(
        f"SELECT {deed} FROM pg_stat_activity"
        " WHERE backend_type = 'client backend' AND datname LIKE 'faults_%'"
    )
    return len(cursor.fetchall())
