"""What the peers run on: a virtualenv each, or node's modules, made once below `.bench/`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.errors import Skipped

CHECKOUT = Path(__file__).resolve().parent.parent
HOME = Path(os.environ.get("BENCH_HOME", CHECKOUT / ".bench"))
SYSTEMS = Path(__file__).parent / "systems"


def names() -> list[str]:
    """Every system with an adapter, hubqueue first, as they are typed."""
    found = {path.stem for path in SYSTEMS.glob("*.*") if path.suffix in (".py", ".mjs")}
    peers = sorted(found - {"__init__", "hubqueue"})
    return ["hubqueue", *(name.replace("_", "-") for name in peers)]


def command(system: str) -> list[str]:
    """The command that runs an operation of this system, which is installed first when need be."""
    name = system.replace("-", "_")
    wanted = SYSTEMS / f"{name}.txt"
    if not wanted.exists():
        return [sys.executable, "-m", "bench.agent", name]
    home = HOME / name
    stamp = home / "installed.txt"
    in_node = (SYSTEMS / f"{name}.mjs").exists()
    if not stamp.exists() or stamp.read_text() != wanted.read_text():
        print(f"installing {system} into {home}", file=sys.stderr)
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        install = _with_npm if in_node else _with_pip
        install(home, wanted)
        stamp.write_text(wanted.read_text())
    if in_node:
        return ["node", str(SYSTEMS / f"{name}.mjs")]
    return [str(home / "bin" / "python"), "-m", "bench.agent", name]


def environment(system: str) -> dict[str, str]:
    """The environment of a system's programs: this checkout on the path, nothing of its settings."""
    left_out = ("DJANGO_SETTINGS_MODULE", "DATABASE_URL", "VIRTUAL_ENV", "PYTHONHOME")
    kept = {key: value for key, value in os.environ.items() if key not in left_out}
    home = HOME / system.replace("-", "_")
    return kept | {"PYTHONPATH": str(CHECKOUT), "PYTHONUNBUFFERED": "1", "BENCH_HOME": str(home)}


def _with_pip(home: Path, wanted: Path) -> None:
    _run([sys.executable, "-m", "venv", str(home)], home)
    pip = [
        str(home / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
    ]
    _run([*pip, "-r", str(wanted)], home)


def _with_npm(home: Path, wanted: Path) -> None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise Skipped("needs node and npm on PATH")
    (home / "package.json").write_text('{"private": true}\n')
    _run(["npm", "install", "--silent", "--no-audit", *wanted.read_text().split()], home)


def _run(arguments: list[str], home: Path) -> None:
    done = subprocess.run(arguments, cwd=home, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["nothing"]
        raise Skipped(f"could not be installed: {' '.join(arguments[:4])} ... said {last[0]!r}")
