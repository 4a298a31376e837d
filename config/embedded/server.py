"""Use the embedded database: be counted as a user, and have a server to connect to."""

import os
import subprocess
import sys
import threading
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from config.embedded import cluster, home, locks, postmaster
from config.embedded.account import environment
from config.embedded.cluster import DATABASE, USER
from config.embedded.errors import EmbeddedDatabaseError
from config.embedded.home import CHECKOUT, Home
from config.embedded.supervisor import Order

LINGER = 5.0
LARGEST_LOG = 10 * 1024 * 1024

_mutex = threading.Lock()
_counted: dict[Path, tuple[int, int]] = {}  # home -> (process id, descriptor of the users lock)


def ensure() -> Path:
    """Return the socket directory of a running server, starting one when there is none.

    From here on until it ends this process counts as a user, and the server stays up. Raises
    `EmbeddedDatabaseError` with one sentence when there can be no server.
    """
    with _mutex:
        place = _home()
        if not _is_counted(place):
            _count(place)
        elif _is_well(place):
            return _sockets(place)
        with locks.held(place.start_lock):
            if not _is_well(place):
                _start(place)
        return _sockets(place)


def dsn(database: str = DATABASE) -> str:
    """The URL of a database on the running server, for libpq, psycopg and `DATABASE_URL`."""
    return f"postgresql://{USER}@/{quote(database, safe='')}?host={quote(str(ensure()), safe='/')}"


def programs() -> Path:
    """The directory of `psql`, `pg_dump` and the other programs of this server's version."""
    return _home().binaries


@lru_cache(maxsize=1)
def _home() -> Home:
    return home.find()


def _is_counted(place: Home) -> bool:
    # A forked child shares its parent's lock, which goes when the parent's last copy goes.
    return place.path in _counted and _counted[place.path][0] == os.getpid()


def _count(place: Home) -> None:
    inherited = _counted.pop(place.path, None)
    if inherited is not None:
        os.close(inherited[1])
    descriptor = locks.open_lock(place.users_lock)
    locks.take(descriptor, shared=True)
    _counted[place.path] = (os.getpid(), descriptor)


def _is_well(place: Home) -> bool:
    # No probe of the socket: connecting is the probe, and costs the server a process each time.
    return locks.is_held(place.supervisor_lock) and postmaster.says_ready(place.data)


def _sockets(place: Home) -> Path:
    running = postmaster.read(place.data)
    return running.sockets if running is not None else place.sockets


def _start(place: Home) -> None:
    if place.moved_from is not None:
        sys.stderr.write(
            f"The embedded database lives in {place.path}: the account "
            f"{place.account.name if place.account else '?'} runs it "
            f"and cannot reach {place.moved_from}.\n"
        )
    cluster.prepare(place.data, place.binaries, place.account)
    home.make_private(place.sockets, place.account)
    if place.log.exists() and place.log.stat().st_size > LARGEST_LOG:
        place.log.rename(place.log.with_suffix(".old"))
    answer = _order(place)
    if answer != "ready":
        reason = answer.removeprefix("failed").strip() or "the supervisor died"
        raise EmbeddedDatabaseError(
            f"The embedded database did not start: {reason}; read {place.log}, or set "
            "DATABASE_URL to use another PostgreSQL."
        )


def _order(place: Home) -> str:
    """Start a supervisor and return its first line."""
    order = Order(
        home=str(place.path),
        sockets=str(place.sockets),
        program=str(place.binaries / "postgres"),
        linger=float(os.environ.get("HUBQUEUE_LINGER", LINGER)),
        uid=place.account.uid if place.account else None,
        gid=place.account.gid if place.account else None,
    )
    with (
        place.log.open("ab") as log,
        subprocess.Popen(
            [sys.executable, "-m", "config.embedded.supervisor", order.to_json()],
            cwd=CHECKOUT,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as starter,
    ):
        assert starter.stdout is not None
        return starter.stdout.readline().strip()
