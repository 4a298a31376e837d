"""A private PostgreSQL server that takes TLS and nothing else over TCP."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from config.embedded.binaries import SYSTEM
from tests.support.certificates import certify
from tests.support.postgres import Cluster
from tests.support.wait import until

RULES = "local all all trust\nhostssl all all 127.0.0.1/32 trust\nhostnossl all all all reject\n"


@contextmanager
def tls_cluster(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """The wheel's server knows no TLS, so the system's is taken: skips where there is none.

    Its certificate is for localhost and 127.0.0.1, and at ``home / "localhost.crt"``.
    """
    monkeypatch.setenv("HUBQUEUE_PG_BIN", str(_programs()))
    with Cluster(tcp=True) as cluster:
        present(cluster, certify(home))
        (cluster.data / "pg_hba.conf").write_text(RULES)
        for name in ("ssl_cert_file", "ssl_key_file"):
            cluster.execute(f"ALTER SYSTEM SET {name} = 'server.pem'")
        cluster.execute("ALTER SYSTEM SET ssl = on")
        cluster.execute("SELECT pg_reload_conf()")
        until(lambda: cluster.execute("SHOW ssl") == [("on",)], message="TLS")
        yield cluster


def present(cluster: Cluster, certificate: Path) -> None:
    """What the server shows from its next start or reload on: key and certificate in one file."""
    owner = cluster.data.stat()
    key = cluster.data / "server.pem"
    key.write_bytes(certificate.read_bytes())
    os.chown(key, owner.st_uid, owner.st_gid)
    key.chmod(0o600)


def _programs() -> Path:
    found = [path for pattern in SYSTEM for path in sorted(Path("/").glob(pattern[1:]))]
    for directory in reversed(found):
        if b"libssl" in (directory / "postgres").read_bytes():
            return directory
    pytest.skip("no PostgreSQL server with TLS is installed")
