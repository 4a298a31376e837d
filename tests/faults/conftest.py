"""Faults: every test here is ``faults`` and ``slow``, and breaks a queue at work on a server of its own."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.faults.far import Far
from tests.faults.site import Site
from tests.support.hub import Hub
from tests.support.postgres import Cluster

HERE = Path(__file__).parent
TEMPLATE = "faults_template"
numbers = count(1)


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.faults)
            item.add_marker(pytest.mark.slow)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One private server for all faults; a test leaves it running, with its settings as they were. It has room for
    a site that stands, one behind a network, and a third worker beside both."""
    with Cluster(tcp=True, settings={"max_connections": "100"}) as cluster:
        maker = Hub(cluster.create_database(TEMPLATE), tmp_path_factory.mktemp("template"))
        maker.prepare()
        maker.close()
        yield cluster


@pytest.fixture(scope="session")
def fresh_hub(postgres: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Hub]:
    """``fresh_hub()``: a queue on an empty, migrated database of its own on the private server."""

    def make() -> Hub:
        name = f"faults_{next(numbers)}"
        postgres.execute(f'CREATE DATABASE "{name}" TEMPLATE "{TEMPLATE}"')
        return Hub(postgres.url(name, tcp=False), tmp_path_factory.mktemp(name))

    return make


@pytest.fixture(scope="package")  # a load must not go on beside other tests
def standing_sites() -> Iterator[list[Site]]:
    sites: list[Site] = []
    yield sites
    for site in sites:
        site.close()


@pytest.fixture
def site(fresh_hub: Callable[[], Hub], standing_sites: list[Site]) -> Site:
    """A queue at work that stands over many faults. A test that ends without ``site.check()`` costs a new one."""
    if not standing_sites or not standing_sites[-1].sound:
        while standing_sites:
            standing_sites.pop().close()
        standing_sites.append(Site(fresh_hub()))
    standing = standing_sites[-1]
    standing.sound = False
    standing.ready()
    return standing


@pytest.fixture(scope="module")
def standing_far() -> Iterator[list[Far]]:
    kept: list[Far] = []
    yield kept
    for each in kept:
        each.close()


@pytest.fixture
def far(fresh_hub: Callable[[], Hub], postgres: Cluster, standing_far: list[Far]) -> Far:
    """It stands over the faults of one file; a test that ends without a check costs a new one."""
    if not standing_far or not standing_far[-1].site.sound:
        while standing_far:
            standing_far.pop().close()
        standing_far.append(Far(fresh_hub(), postgres))
    standing_far[-1].site.sound = False
    return standing_far[-1]
