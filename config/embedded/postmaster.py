"""What `data/postmaster.pid` says about a running server.

Plain standard library: the supervisor imports this without Django.
"""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

PORT = 5432


@dataclass(frozen=True, slots=True)
class Postmaster:
    """A server process and the directory of its socket."""

    pid: int
    sockets: Path

    def is_alive(self) -> bool:
        """Whether the process still exists (a zombie does not count)."""
        try:
            os.kill(self.pid, 0)
            state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        except FileNotFoundError:
            return not Path("/proc/self").exists()
        return state != "Z"

    def accepts(self, port: int = PORT) -> bool:
        """Whether its socket takes connections."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(2)
            try:
                client.connect(str(self.sockets / f".s.PGSQL.{port}"))
            except OSError:
                return False
        return True


def read(data: Path) -> Postmaster | None:
    """The server that says it owns this data directory, alive or not; None when none says so."""
    lines = _lines(data)
    if len(lines) < 5 or not lines[0].isdigit() or not lines[4]:
        return None
    return Postmaster(int(lines[0]), Path(lines[4]))


def living(data: Path) -> Postmaster | None:
    """The server that owns this data directory and runs; None when its number is another's."""
    server = read(data)
    if server is None or not server.is_alive() or not belongs_to(server, data):
        return None
    return server


def says_ready(data: Path) -> bool:
    """Whether the server of this data directory lives and wrote that its start is complete."""
    lines = _lines(data)
    server = living(data)
    return server is not None and len(lines) > 7 and lines[7] == "ready"


def is_ready(data: Path, *, port: int = PORT) -> bool:
    """Whether it also takes connections."""
    server = read(data)
    return server is not None and says_ready(data) and server.accepts(port)


def belongs_to(server: Postmaster, data: Path) -> bool:
    """Whether the process is a server of this directory and not a later owner of its number."""
    try:
        return Path(f"/proc/{server.pid}/cwd").resolve() == data.resolve()
    except OSError:
        return server.accepts()


def _lines(data: Path) -> list[str]:
    try:
        return [line.strip() for line in (data / "postmaster.pid").read_text().splitlines()]
    except (FileNotFoundError, NotADirectoryError):
        return []
