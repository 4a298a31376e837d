"""Open targets of all four kinds."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import paramiko
import pytest

from backups.targets import local, s3, sftp, webdav
from backups.targets.config import config_of
from backups.targets.open_target import OpenTarget
from tests.backups.targets.plenty import fill
from tests.backups.targets.servers import SECRET, USER, serving
from tests.support.certificates import certify

KINDS = ("local", "s3", "sftp", "webdav")
ADAPTERS = {"local": local, "s3": s3, "sftp": sftp, "webdav": webdav}


@dataclass(frozen=True)
class Place:
    """A target that a server serves from ``root``."""

    kind: str
    config: dict[str, Any]
    port: int
    root: Path
    secret: str = SECRET
    timeout: float = 15.0

    def open(self) -> OpenTarget:
        config = config_of(self.kind, self.config)
        return ADAPTERS[self.kind].opened(config, self.secret, self.timeout, str(self.root.parent))

    def beside(self, root: str) -> "Place":
        """The same with another root."""
        moved = {
            "local": {"path": root},
            "s3": {"bucket": root},
            "sftp": {"path": root},
            "webdav": {"url": f"https://127.0.0.1:{self.port}/{root}"},
        }
        return replace(self, config=self.config | moved[self.kind])

    def at(self, port: int) -> "Place":
        """The same through another port."""
        moved = {
            "s3": {"endpoint": f"http://127.0.0.1:{port}"},
            "sftp": {"port": port},
            "webdav": {"url": f"https://127.0.0.1:{port}/store"},
        }
        return replace(self, port=port, config=self.config | moved.get(self.kind, {}))


class Places:
    """What the servers of the tests are told and what their targets are told of them."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.certificate = certify(base)
        key = paramiko.ECDSAKey.generate()
        key.write_private_key_file(str(base / "host-key"))
        self.host_key = f"{key.get_name()} {key.get_base64()}"
        self.fingerprint = key.fingerprint

    def options(self, kind: str) -> list[str]:
        tls = ["--cert", str(self.certificate), "--key", str(self.certificate)]
        return {"s3": [], "sftp": ["--key", str(self.base / "host-key")], "webdav": tls}[kind]

    def place(self, kind: str, port: int, root: Path) -> Place:
        configs: dict[str, dict[str, Any]] = {
            "local": {"path": root.name},
            "s3": {"bucket": "bucket", "access_key": USER},
            "sftp": {"host": "127.0.0.1", "user": USER, "host_key": self.host_key, "path": "store"},
            "webdav": {"user": USER, "url": "", "ca": self.certificate.with_suffix(".crt").read_text()},
        }  # fmt: skip
        return Place(kind, configs[kind], port, root).at(port)


@pytest.fixture(scope="session")
def places(tmp_path_factory) -> Places:
    return Places(tmp_path_factory.mktemp("servers"))


@pytest.fixture(scope="session", params=KINDS)
def place(request, places, tmp_path_factory):
    kind = request.param
    served = tmp_path_factory.mktemp(kind)
    root = served / {"s3": "bucket"}.get(kind, "store")
    root.mkdir()
    fill(served)
    if kind == "local":
        yield places.place(kind, 0, root)
        return
    with serving(kind, served, *places.options(kind)) as port:
        yield places.place(kind, port, root)


@pytest.fixture
def store(place):
    with place.open() as opened:
        yield opened
        for each in list(opened.list()):
            opened.delete(each.name)
