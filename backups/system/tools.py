"""Which of PostgreSQL's programs are used, and what they are told: never a secret on a command line."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import pq

from backups.conf import conf
from backups.errors import ToolMissing

USUAL = "usr/lib/postgresql/*/bin"
KEPT = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TZ")  # of our own environment


def programs(server: int, *names: str) -> Path:
    """The directory of these programs for a server of this major version: the same version, else the next newer.

    Asked is ``BACKUPS_PG_BIN`` alone when it is set, else the usual directories and PATH. Raises ``ToolMissing``.
    """
    found = [(_major(each / names[0]), each) for each in _candidates() if _is_whole(each, names)]
    fit = [each for each in found if each[0] >= server]
    if fit:
        return min(fit, key=lambda each: each[0])[1]
    told = ", ".join(str(each) for each in sorted({each for each, _ in found}))
    raise ToolMissing(
        f"expected {', '.join(names)} of PostgreSQL {server} or later, as the server is,"
        f" got {f'version {told}' if told else 'none'}: install postgresql-client-{server},"
        " or set BACKUPS_PG_BIN to its directory"
    )


def server_major(connection: BaseDatabaseWrapper) -> int:
    """The major version of the server."""
    connection.ensure_connection()
    assert connection.connection is not None
    return int(connection.connection.info.server_version) // 10_000


def environment(connection: BaseDatabaseWrapper) -> dict[str, str]:
    """What a program needs to reach the database of ``connection``; of ours it gets little else.

    The password is in it: an environment is seen by nobody but the account itself.
    """
    given: Mapping[str, Any] = connection.get_connection_params()
    kept = surroundings() | {key: value for key, value in os.environ.items() if key[:2] == "PG"}
    for option in pq.Conninfo.get_defaults():
        value = given.get(option.keyword.decode())
        if option.envvar and value not in (None, ""):
            kept[option.envvar.decode()] = str(value)
    return kept | {"PGAPPNAME": "hubqueue-backup"}


def surroundings() -> dict[str, str]:
    """What a program needs that reaches no database."""
    return {key: value for key, value in os.environ.items() if key in KEPT}


def _candidates() -> Iterator[Path]:
    if named := conf().backups_pg_bin:
        yield Path(named)
        return
    yield from sorted(Path("/").glob(USUAL))
    if on_path := shutil.which("pg_dump"):
        yield Path(on_path).parent


def _is_whole(directory: Path, names: tuple[str, ...]) -> bool:
    return all(os.access(directory / name, os.X_OK) for name in names)


def _major(program: Path) -> int:
    """0 for one that does not tell."""
    try:
        said = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=20, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    told = re.search(r"\(PostgreSQL\) (\d+)", said)
    return int(told[1]) if told else 0
