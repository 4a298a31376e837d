"""A program of PostgreSQL as our child: in a group of its own, gone with the block that started it."""

import os
import select
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGKILL, SIGTERM
from subprocess import DEVNULL, PIPE, Popen
from typing import IO

from backups.errors import ToolFailed

PIECE = 256 * 1024
LOOK_EVERY = 500  # milliseconds between two looks at whether to go on, while the program is silent
PATIENCE = 5  # seconds that a program has to end by itself


class Program(Popen[bytes]):
    """A program that runs. ``name`` is what people call it."""

    def __init__(
        self, command: Sequence[str], environment: dict[str, str], *, reads: bool, tells: bool
    ) -> None:
        super().__init__(
            command,
            stdin=PIPE if reads else DEVNULL,
            stdout=PIPE if tells else DEVNULL,
            stderr=DEVNULL,
            env=environment,
            cwd="/",
            bufsize=0,
            start_new_session=True,
        )
        self.name = Path(command[0]).name


@contextmanager
def started(
    command: Sequence[str], environment: dict[str, str], *, reads: bool = False, tells: bool = False
) -> Iterator[Program]:
    """Run a program; its errors are not read, because they quote rows. It is dead when the block ends."""
    program = Program(command, environment, reads=reads, tells=tells)
    try:
        yield program
    finally:
        _end(program)


def output(program: Program, checkpoint: Callable[[], object]) -> Iterator[bytes]:
    """What the program writes; ``checkpoint`` is called all the while, and whatever it raises comes through.

    Raises ``ToolFailed`` at the end when the program did not end well.
    """
    assert program.stdout is not None
    silent = select.poll()
    silent.register(program.stdout, select.POLLIN | select.POLLHUP)
    while True:
        checkpoint()
        if not silent.poll(LOOK_EVERY):
            continue
        piece = os.read(program.stdout.fileno(), PIECE)
        if not piece:
            break
        yield piece
    refuse_failed(program)


def write(pipe: IO[bytes], piece: bytes) -> None:
    """All of it: an unbuffered pipe may take less."""
    left = memoryview(piece)
    while left:
        left = left[pipe.write(left) :]


def refuse_failed(program: Program) -> None:
    """Wait for the end. Raises ``ToolFailed`` unless it was a good one."""
    code = program.wait()
    if code != 0:
        raise ToolFailed(f"{program.name} ended with {code}, expected 0: nothing of it was kept")


def _end(program: Program) -> None:
    if program.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, SIGTERM)
        try:
            program.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, SIGKILL)
            program.wait()
    for pipe in (program.stdin, program.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
