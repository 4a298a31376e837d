"""etcd and two nodes: a primary and its synchronous standby."""

import subprocess
from pathlib import Path
from typing import Self

from config.embedded import account
from config.embedded.home import make_private
from tests.faults.failover import node as nodes
from tests.faults.failover.install import Programs
from tests.faults.failover.node import USER, Node
from tests.support.postgres import free_port
from tests.support.wait import until

PATIENT = 180.0


class Pair:
    """with Pair(home, programs) as pair: pair.fail_over(); pair.heal()"""

    def __init__(self, home: Path, programs: Programs, *, strict: bool) -> None:
        self.home = home
        self._programs = programs
        self._strict = strict
        self._owner = account.server_account()
        self._etcd: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        nodes.SHARED["synchronous_mode_strict"] = self._strict
        address = self._start_etcd()
        self.nodes = [
            Node(name, self.home, self._programs, self._owner, address) for name in ("one", "two")
        ]
        self.nodes[0].start()
        until(lambda: self.primary() is not None, timeout=PATIENT, message="the first primary")
        self.nodes[1].start()
        self.wait_in_sync()
        return self

    def __exit__(self, *_: object) -> None:
        for each in self.nodes:
            each.vanish()
        if self._etcd is not None:
            self._etcd.kill()
            self._etcd.wait(timeout=30)

    @property
    def url(self) -> str:
        """The ``DATABASE_URL`` of both nodes: libpq looks for the one that takes writes."""
        ports = ",".join(str(each.port) for each in self.nodes)
        hosts = ",".join("127.0.0.1" for _ in self.nodes)
        return (
            f"postgres://{USER}@/postgres?host={hosts}&port={ports}&target_session_attrs=read-write"
        )

    def primary(self) -> Node | None:
        """The node whose server takes writes, None while there is none."""
        for each in self.nodes:
            state = each.state()
            if state.get("role") in ("primary", "master") and state.get("state") == "running":
                return each
        return None

    def wait_in_sync(self) -> None:
        """Wait until the primary has a synchronous standby."""
        until(self._in_sync, timeout=PATIENT, message="a synchronous standby")

    def kill_primary(self) -> Node:
        """Make the machine of the primary vanish; answers which it was."""
        lost = until(self.primary, timeout=PATIENT, message="a primary")
        assert lost is not None
        lost.vanish()
        return lost

    def wait_for_primary(self, lost: Node) -> Node:
        """Wait for the other node's promotion."""

        def promoted() -> Node | None:
            found = self.primary()
            return found if found is not None and found is not lost else None

        found = until(promoted, timeout=PATIENT, message="the new primary")
        assert found is not None
        return found

    def _in_sync(self) -> bool:
        """Both say so: Patroni promotes nobody whom it did not note, and its notes may be of yesterday."""
        found = self.primary()
        members = found.members() if found is not None else []
        noted = {
            each["name"]
            for each in members
            if each["role"] in ("sync_standby", "quorum_standby") and each["state"] == "streaming"
        }
        return found is not None and bool(noted & found.standbys())

    def _start_etcd(self) -> str:
        client, peer = free_port(), free_port()
        make_private(self.home / "etcd-state", self._owner)
        urls = {
            "listen-client-urls": f"http://127.0.0.1:{client}",
            "advertise-client-urls": f"http://127.0.0.1:{client}",
            "listen-peer-urls": f"http://127.0.0.1:{peer}",
            "initial-advertise-peer-urls": f"http://127.0.0.1:{peer}",
            "initial-cluster": f"hub=http://127.0.0.1:{peer}",
        }
        options = [word for name, url in urls.items() for word in (f"--{name}", url)]
        with (self.home / "etcd.log").open("ab") as log:
            self._etcd = subprocess.Popen(
                [
                    str(self._programs.etcd),
                    "--name=hub",
                    f"--data-dir={self.home / 'etcd-state'}",
                    *options,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                **account.identity(self._owner),
            )
        return f"127.0.0.1:{client}"
