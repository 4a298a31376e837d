"""A queue with real worker processes: on the run's own database, or on a private server."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.hub import EFFECTS, Hub


@pytest.fixture
def hub(process_env: dict[str, str], tmp_path: Path) -> Iterator[Hub]:
    """A queue on this test's database."""
    opened = Hub(process_env["DATABASE_URL"], tmp_path, env=process_env)
    opened.rows(EFFECTS)
    opened.rows("TRUNCATE proof_effect")
    try:
        yield opened
    finally:
        opened.close()
        opened = Hub(process_env["DATABASE_URL"], tmp_path, env=process_env)
        opened.rows("DROP TABLE proof_effect")
        opened.close()


@pytest.fixture
def private_hub(tmp_path: Path) -> Iterator[Callable[[str], Hub]]:
    """Queues by URL, for tests that start their own servers: ``private_hub(cluster.url())``."""
    opened: list[Hub] = []

    def make(url: str, *, migrated: bool = True) -> Hub:
        home = tmp_path / f"hub-{len(opened)}"
        home.mkdir()
        made = Hub(url, home)
        if migrated:
            made.prepare()
        opened.append(made)
        return made

    yield make
    for each in opened:
        each.close()
