"""Several programs that begin at the same moment."""

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from bench.errors import Broken
from bench.ready import READY
from bench.system import System


def sing(
    system: System, commands: Sequence[Sequence[str]], environment: dict[str, str] | None = None
) -> list[Any]:
    """Start the programs, let them go on once all are ready, and answer the JSON of their last lines."""
    singers = [
        subprocess.Popen(
            command,
            env=system.environment | (environment or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=system.said,
            text=True,
        )
        for command in commands
    ]
    try:
        for singer in singers:
            assert singer.stdout is not None
            if singer.stdout.readline().strip() != READY:
                raise Broken(f"a program could not start: see {system.said.name}")
        return _answers(system, singers)
    finally:
        for singer in singers:
            singer.kill()
            singer.wait()


def _answers(system: System, singers: "list[subprocess.Popen[str]]") -> list[Any]:
    for singer in singers:
        assert singer.stdin is not None
        singer.stdin.write("go\n")
        singer.stdin.flush()
    said = [singer.communicate()[0] for singer in singers]
    if any(singer.returncode for singer in singers):
        raise Broken(f"a program failed: see {system.said.name}")
    return [json.loads(each.splitlines()[-1]) for each in said]
