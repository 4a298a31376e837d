"""What a child has in flight can be read by its supervisor, whatever becomes of the child."""

import os
import subprocess
import sys
from time import monotonic
from uuid import UUID, uuid4

from hubqueue.runner.board import NEVER, open_board
from tests.conftest import CHECKOUT

CHILD = """
import os, sys
from uuid import UUID
from hubqueue.runner.board import Board
board = Board(int(sys.argv[1]), 4)
board.clear(board.put(UUID(int=1), 11, 1.0))
board.put(UUID(int=2), 22, 2.0)
board.unbind(board.put(UUID(int=3), 33, 3.0))
os.kill(os.getpid(), 9)
"""


def test_what_a_killed_child_had_begun_is_still_there() -> None:
    board, descriptor = open_board(4)
    killed = subprocess.run(
        [sys.executable, "-c", CHILD, str(descriptor)],
        pass_fds=[descriptor],
        cwd=CHECKOUT,
        check=False,
    )
    os.close(descriptor)
    assert killed.returncode == -9
    found = {job: (each.fence, each.deadline) for job, each in board.read().items()}
    assert found == {UUID(int=2): (22, 2.0), UUID(int=3): (33, NEVER)}


def test_a_slot_is_used_again_and_a_full_board_shows_no_more() -> None:
    board, descriptor = open_board(2)
    os.close(descriptor)
    first, second, third = uuid4(), uuid4(), uuid4()
    slot = board.put(first, 1, monotonic())
    assert slot is not None
    board.put(second, 1, monotonic())
    assert board.put(third, 1, monotonic()) is None
    board.clear(slot)
    assert board.put(third, 2, monotonic()) == slot
    assert set(board.read()) == {second, third}
