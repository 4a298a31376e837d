"""The scheduler waits out what happens to its database, and leads nothing where it must not."""

import os
from collections.abc import Iterator

import psycopg
import pytest

from tests.conftest import CHECKOUT
from tests.scheduler.start import Scheduler, holders, migrate, terminate
from tests.support.pgbouncer import PgBouncer, is_installed
from tests.support.postgres import Cluster
from tests.support.proxy import Proxy
from tests.support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

TICK = 0.5


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(tcp=True) as made:
        migrate(environment(made.url()))
        yield made


def environment(url: str, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "DATABASE_URL": url,
        "PYTHONPATH": str(CHECKOUT),
        "PYTHONUNBUFFERED": "1",
        **more,
    }


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_server_that_restarts_is_waited_for(cluster: Cluster, mode: str) -> None:
    with Scheduler(environment(cluster.url()), tick=TICK) as one:
        until(one.leads, message="the leader")
        cluster.stop(mode)
        until(lambda: one.has_said("tries again until it can"), message="a word about it")
        count = len(one.lines)
        with pytest.raises(AssertionError, match="a tick"):
            one.next_line(timeout=3 * TICK)
        assert len(one.lines) == count
        cluster.start()
        assert one.next_line(timeout=30)["leading"]
        assert one.process.poll() is None


def test_a_read_only_server_is_led_by_nobody_and_waited_for(cluster: Cluster) -> None:
    with Scheduler(environment(cluster.url()), tick=TICK) as one:
        until(one.leads, message="the leader")
        try:
            cluster.execute("ALTER SYSTEM SET default_transaction_read_only = on")
            cluster.execute("SELECT pg_reload_conf()")
            until(one.follows, message="the end of its lead")
            until(lambda: holders(cluster.url()) == [], message="the end of the lock")
            assert one.has_said("read-only")
        finally:
            make_writable(cluster)
        until(one.leads, message="the lead again")


def test_a_network_that_freezes_blocks_it_for_no_longer_than_its_deadlines(
    cluster: Cluster,
) -> None:
    with Proxy(cluster.port) as proxy:
        url = f"postgres://{cluster.user}@127.0.0.1:{proxy.port}/{cluster.database}"
        with Scheduler(environment(url), tick=TICK, SCHEDULER_DEADLINE="1") as one:
            until(one.leads, message="the leader")
            proxy.freeze()
            until(lambda: one.has_said("tries again until it can"), timeout=20, message="its word")
            until(lambda: holders(cluster.url()) == [], timeout=20, message="the end of the lock")
            proxy.thaw()
            assert one.next_line(timeout=30)["leading"]
            assert one.process.poll() is None


def test_a_frozen_network_does_not_keep_the_process_from_ending(cluster: Cluster) -> None:
    with Proxy(cluster.port) as proxy:
        url = f"postgres://{cluster.user}@127.0.0.1:{proxy.port}/{cluster.database}"
        with Scheduler(environment(url), tick=TICK, SCHEDULER_DEADLINE="30") as one:
            until(one.leads, message="the leader")
            proxy.freeze()
            with pytest.raises(AssertionError, match="a tick"):
                one.next_line(timeout=3 * TICK)
            one.process.terminate()
            assert one.process.wait(15) == 0


def test_a_database_that_lacks_a_migration_is_led_by_nobody_and_that_is_said_once(
    cluster: Cluster,
) -> None:
    url = cluster.url()
    cluster.execute("UPDATE django_migrations SET app = 'elsewhere' WHERE app = 'hubqueue'")
    with Scheduler(environment(url), tick=TICK) as one:
        for _ in range(3):
            assert not one.next_line()["leading"]
        assert holders(url) == []
        assert sum("lacks a migration" in line for line in one.said) == 1
        cluster.execute("UPDATE django_migrations SET app = 'hubqueue' WHERE app = 'elsewhere'")
        until(one.leads, message="the lead once it is up to date")


def test_an_empty_database_is_led_by_nobody(cluster: Cluster) -> None:
    url = cluster.create_database("empty")
    with Scheduler(environment(url), tick=TICK) as one:
        assert not one.next_line()["leading"]
        assert one.has_said("lacks a migration")


@pytest.mark.skipif(not is_installed(), reason="needs PgBouncer")
def test_behind_a_pooler_it_refuses_and_strands_no_lock(cluster: Cluster) -> None:
    with PgBouncer(cluster.url(tcp=False)) as bouncer:
        with Scheduler(environment(bouncer.url()), tick=TICK) as one:
            for _ in range(4):
                assert not one.next_line()["leading"]
                assert holders(cluster.url()) == []
            assert sum("connection pooler" in line for line in one.said) == 1
        with psycopg.connect(bouncer.plain_url(), autocommit=True, prepare_threshold=None) as other:
            assert other.execute("SHOW statement_timeout").fetchone() == ("0",)
        direct = environment(bouncer.url(), HUBQUEUE_DIRECT_URL=cluster.url())
        with Scheduler(direct, tick=TICK) as one:
            until(one.leads, message="the lead past the pooler")
            (leader,) = holders(cluster.url())
            terminate(cluster.url(), [leader])
            until(lambda: holders(cluster.url()) not in ([], [leader]), message="the lead again")
        until(lambda: holders(cluster.url()) == [], message="the end of the lock")


def make_writable(cluster: Cluster) -> None:
    """Undo the read-only default; the session that does it must be writable itself."""
    with psycopg.connect(
        cluster.url(tcp=False), autocommit=True, options="-c default_transaction_read_only=off"
    ) as own:
        own.execute("ALTER SYSTEM RESET default_transaction_read_only")
        own.execute("SELECT pg_reload_conf()")
