"""The data directory: made once, complete or not at all, and of one major version."""

import os
import shutil
import tempfile
from pathlib import Path

from config.embedded import binaries
from config.embedded.account import Account, run
from config.embedded.errors import EmbeddedDatabaseError

USER = "hubqueue"
DATABASE = "hubqueue"


def prepare(data: Path, programs: Path, account: Account | None) -> None:
    """Make the data directory when it is missing; refuse one of another major version.

    The caller holds the start lock.
    """
    made_by = _major_of(data)
    if made_by is None:
        create(data, programs, account)
        return
    ours = str(binaries.major(programs, account))
    if made_by != ours:
        raise EmbeddedDatabaseError(
            f"The embedded database in {data} was made by PostgreSQL {made_by}, and the programs "
            f"in {programs} are PostgreSQL {ours}: save it with `HUBQUEUE_PG_BIN=<bin directory "
            f"of PostgreSQL {made_by}> ./dev database pg_dump -Fc -f hubqueue.dump`, move {data} "
            "away, and read it back with `./dev database pg_restore -d hubqueue hubqueue.dump`."
        )


def create(data: Path, programs: Path, account: Account | None) -> None:
    """Run initdb into a temporary directory, add the database, and rename: all or nothing."""
    for leftover in data.parent.glob(f"{data.name}.new.*"):
        shutil.rmtree(leftover)
    unfinished = Path(tempfile.mkdtemp(prefix=f"{data.name}.new.", dir=data.parent))
    if account is not None:
        os.chown(unfinished, account.uid, account.gid)
    _initdb(unfinished, programs, account)
    _single_user(unfinished, programs, account, f"CREATE DATABASE {DATABASE}\n")
    unfinished.rename(data)


def _initdb(data: Path, programs: Path, account: Account | None) -> None:
    locale = ["--locale=C.UTF-8"]
    if binaries.major(programs, account) >= 17:
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    arguments = ["-A", "trust", "-U", USER, "-E", "UTF8", *locale]
    answer = run([str(programs / "initdb"), "-D", str(data), *arguments], account)
    if answer.returncode != 0:
        raise _failed("initdb", answer.stdout)


def _single_user(data: Path, programs: Path, account: Account | None, sql: str) -> None:
    command = [str(programs / "postgres"), "--single", "-D", str(data), "postgres"]
    answer = run(command, account, given=sql)
    if answer.returncode != 0:
        raise _failed("postgres --single", answer.stdout)


def _failed(program: str, said: str) -> EmbeddedDatabaseError:
    last = said.strip().splitlines()[-1:] or ["nothing"]
    return EmbeddedDatabaseError(
        f"The embedded database could not be made: {program} said {last[0]!r}; "
        "set DATABASE_URL to use another PostgreSQL."
    )


def _major_of(data: Path) -> str | None:
    try:
        return (data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        return None
