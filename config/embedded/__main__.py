"""Run a program against the embedded database: `python -m config.embedded pg_dump -f FILE`."""

import os
import subprocess
import sys

from config.embedded import server
from config.embedded.cluster import DATABASE, USER
from config.embedded.errors import EmbeddedDatabaseError


def main(command: list[str]) -> int:
    """Start the server if need be, run the command with its address, and return its exit code.

    Without a command the URL of the database is printed.
    """
    try:
        sockets = server.ensure()
    except EmbeddedDatabaseError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if not command:
        print(server.dsn())
        return 0
    address = {"PGHOST": str(sockets), "PGUSER": USER, "PGDATABASE": DATABASE}
    path = f"{server.programs()}{os.pathsep}{os.environ.get('PATH', '')}"
    # This process stays behind: its lock on the users file keeps the server up.
    environment = os.environ | address | {"PATH": path}
    try:
        return subprocess.run(command, env=environment, check=False).returncode
    except FileNotFoundError:
        sys.stderr.write(f"Expected a program on PATH, got {command[0]}; try psql or pg_dump.\n")
        return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
