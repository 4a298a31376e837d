"""The proxy fails the way it says: what the other tests of faults rely on."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.support.link import When
from tests.support.postgres import Cluster
from tests.support.proxy import COMMIT, Proxy
from tests.support.wait import until


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(tcp=True) as made:
        made.execute("CREATE TABLE written (name text)")
        yield made


def write(cluster: Cluster, proxy: Proxy, name: str) -> None:
    url = f"postgres://{cluster.user}@127.0.0.1:{proxy.port}/{cluster.database}"
    with psycopg.connect(url) as session:
        session.execute("INSERT INTO written VALUES (%s)", [name])


def written(cluster: Cluster, name: str) -> int:
    return number(cluster, f"SELECT count(*) FROM written WHERE name = '{name}'")


def sessions(cluster: Cluster) -> int:
    """Of other clients, inside a transaction."""
    return number(
        cluster,
        "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
        " AND backend_type = 'client backend'",
    )


def number(cluster: Cluster, sql: str) -> int:
    return int(str(cluster.execute(sql)[0][0]))


@pytest.mark.parametrize(
    ("when", "at_first", "in_the_end"),
    [("before", 0, 0), ("after", 1, 1), ("late", 0, 1), ("lost", 0, 0)],
)
def test_a_commit_takes_place_or_not_as_the_proxy_cuts(
    cluster: Cluster, when: When, at_first: int, in_the_end: int
) -> None:
    with Proxy(cluster.port) as proxy:
        write(cluster, proxy, f"{when} untouched")
        assert written(cluster, f"{when} untouched") == 1
        proxy.cut_at(COMMIT, when)
        with pytest.raises(psycopg.OperationalError):
            write(cluster, proxy, when)
        assert written(cluster, when) == at_first
        kept = when in ("late", "lost")
        until(lambda: sessions(cluster) == kept, message="the server's own end of it")
        proxy.release()
        until(lambda: proxy.sprung[when] == 1, message="the end of the cut")
        until(lambda: sessions(cluster) == 0, message="the end of the session")
        assert written(cluster, when) == in_the_end
        write(cluster, proxy, f"{when} later")


@pytest.mark.parametrize(("when", "in_the_end"), [("before", 0), ("after", 30), ("late", 30)])
def test_a_statement_in_a_pipeline_is_cut_before_its_client_asks_for_an_answer(
    cluster: Cluster, when: When, in_the_end: int
) -> None:
    with Proxy(cluster.port) as proxy:
        url = f"postgres://{cluster.user}@127.0.0.1:{proxy.port}/{cluster.database}"
        insert = "INSERT INTO written SELECT %s FROM generate_series(1, 30)"
        name = f"{when} in a pipeline"
        with (
            psycopg.connect(url, autocommit=True) as session,
            pytest.raises(psycopg.OperationalError),
            session.pipeline(),
        ):
            proxy.cut_at(insert[:20], when)
            session.execute(insert, [name])
            until(lambda: not proxy.armed, message="the cut")
            proxy.release()
            until(lambda: proxy.sprung[when] == 1, timeout=10, message="the end of the cut")
            session.execute("SELECT 1").fetchone()
        assert written(cluster, name) == in_the_end


def test_it_freezes_refuses_and_cuts_all(cluster: Cluster) -> None:
    with Proxy(cluster.port) as proxy, ThreadPoolExecutor() as beside:
        url = f"postgres://{cluster.user}@127.0.0.1:{proxy.port}/{cluster.database}"
        with psycopg.connect(url, autocommit=True) as session:
            proxy.freeze()
            asked = beside.submit(session.execute, "INSERT INTO written VALUES ('frozen')")
            with pytest.raises(psycopg.errors.ConnectionTimeout):
                psycopg.connect(url, connect_timeout=2)
            assert (asked.done(), written(cluster, "frozen")) == (False, 0)
            proxy.thaw()
            asked.result(30)
            assert written(cluster, "frozen") == 1
            proxy.refuse()
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(url)
            session.execute("SELECT 1")
            proxy.cut_all()
            with pytest.raises(psycopg.OperationalError):
                session.execute("SELECT 1")
        proxy.refuse(False)
        psycopg.connect(url).close()
