"""Real servers of S3, SFTP and WebDAV, by rclone, on a directory of the test."""

import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.support.wait import until

USER, SECRET = "AKIAHUBQUEUETESTS", "s3cr3t-of-the-tests"


def rclone() -> str:
    found = find_spec("rclone_api")
    assert found is not None
    assert found.submodule_search_locations
    return str(Path(found.submodule_search_locations[0]) / "bin" / "rclone")


@contextmanager
def serving(protocol: str, root: Path, *options: str, within: Sequence[str] = ()) -> Iterator[int]:
    """The port of a server that knows one user. ``within``: a command that runs the one after it."""
    login = (
        ["--auth-key", f"{USER},{SECRET}"]
        if protocol == "s3"
        else ["--user", USER, "--pass", SECRET]
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [*within, rclone(), "serve", protocol, str(root), "--addr", f"127.0.0.1:{port}", *login,
         "--config", "", *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until(lambda: answers(port), message=f"rclone serve {protocol}")
        yield port
    finally:
        process.kill()
        process.wait(10)


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
