"""Every session of a worker is encrypted and its server known, when DATABASE_URL asks for that."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hubqueue.runner.doorbell import PROVE_EVERY
from tests.support.certificates import certify
from tests.support.hub import Hub
from tests.support.postgres import Cluster
from tests.support.tls import present, tls_cluster
from tests.support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]

SESSIONS = """
SELECT application_name AS name, ssl, query FROM pg_stat_activity JOIN pg_stat_ssl USING (pid)
WHERE starts_with(application_name, 'hubqueue-') AND datname = current_database()
"""


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with tls_cluster(tmp_path, monkeypatch) as made:
        yield made


def address(cluster: Cluster, host: str, root: Path) -> str:
    return (
        f"postgres://{cluster.user}@{host}:{cluster.port}/{cluster.database}"
        f"?sslmode=verify-full&sslrootcert={root}"
    )


def test_every_session_of_a_worker_is_encrypted_the_one_that_listens_too(
    cluster: Cluster, tmp_path: Path
) -> None:
    hub = Hub(address(cluster, "localhost", tmp_path / "localhost.crt"), tmp_path)
    try:
        hub.prepare()
        hub.ready("--threads", "2", "--scheduler")

        def sessions() -> list[dict[str, object]]:
            found = hub.rows(SESSIONS)
            kinds = ("hubqueue-supervisor", "hubqueue-scheduler")
            there = all(any(row["name"].startswith(kind) for row in found) for kind in kinds)
            listens = any(row["query"].upper().startswith("LISTEN") for row in found)
            return found if there and listens else []

        (job,) = hub.put("proof.effect", [{"name": "over TLS"}])
        hub.reaches(job, "SUCCEEDED")
        found = until(sessions, timeout=2 * PROVE_EVERY, message="all kinds of sessions")
        assert [row["name"] for row in found if not row["ssl"]] == []
    finally:
        hub.close()


def test_a_server_that_is_not_the_one_asked_for_is_not_talked_to(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Its certificate is signed by somebody else, or is another host's."""
    other = certify(tmp_path, "elsewhere.example")
    hub = Hub(address(cluster, "localhost", other.with_suffix(".crt")), tmp_path)
    assert "certificate verify failed" in refusal(hub)
    present(cluster, other)
    cluster.restart()
    assert 'does not match host name "localhost"' in refusal(hub)


def refusal(hub: Hub) -> str:
    done = hub.manage("migrate", "--check")
    assert done.returncode != 0
    return done.stderr
