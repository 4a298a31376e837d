"""What befalls processes: killed, stopped for a while, replaced one after the other."""

import random
from collections.abc import Callable
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM
from time import sleep

from tests.faults.soak.field import Field
from tests.support.workers import WorkerTree, family, send

Fault = Callable[[Field, random.Random], None]
LONGEST_STOP = 9.0  # two leases


def kill_child(field: Field, dice: random.Random) -> None:
    tree = dice.choice(field.trees)
    children = tree.children()
    if children:
        child = dice.choice(children)
        send(child.pid, SIGKILL)
        field.count("killed solo" if child.solo else "killed child")


def kill_supervisor(field: Field, dice: random.Random) -> None:
    """Its children see that they are alone."""
    tree = dice.choice(field.trees)
    send(tree.pid, SIGKILL)
    tree.ended()
    field.count("killed supervisor")
    field.replace(tree)


def kill_tree(field: Field, dice: random.Random) -> None:
    """As when a machine loses its power."""
    tree = dice.choice(field.trees)
    tree.kill_tree()
    field.count("killed worker")
    field.replace(tree)


def kill_scheduler(field: Field, dice: random.Random) -> None:
    """The leader's, or the one that would follow."""
    for pid in schedulers(dice.choice(field.trees)):
        send(pid, SIGKILL)
        field.count("killed scheduler")


def stop_child(field: Field, dice: random.Random) -> None:
    children = dice.choice(field.trees).children()
    if children:
        hold_still([dice.choice(children).pid], dice)
        field.count("stopped child")


def stop_supervisor(field: Field, dice: random.Random) -> None:
    hold_still([dice.choice(field.trees).pid], dice)
    field.count("stopped supervisor")


def stop_scheduler(field: Field, dice: random.Random) -> None:
    hold_still(schedulers(dice.choice(field.trees)), dice)
    field.count("stopped scheduler")


def stop_tree(field: Field, dice: random.Random) -> None:
    """As a machine that is paused."""
    tree = dice.choice(field.trees)
    stopped = tree.freeze()
    sleep(dice.uniform(0.5, LONGEST_STOP))
    tree.thaw(stopped)
    field.count("stopped worker")


def roll(field: Field, dice: random.Random) -> None:
    """A deploy: each worker ends in its own time, and another one takes its place."""
    for tree in list(field.trees):
        field.replace(tree)
        tree.signal(SIGTERM)
        code = tree.ended(within=90)
        assert code == 0, (
            f"a worker that was asked to stop ended with {code}:\n{tree.said()[-2000:]}"
        )
        field.count("rolled worker")


def kill_enqueuers(field: Field, dice: random.Random) -> None:
    field.load.kill()
    field.load.start()
    field.count("killed enqueuers")


def hold_still(pids: list[int], dice: random.Random) -> None:
    for pid in pids:
        send(pid, SIGSTOP)
    sleep(dice.uniform(0.5, LONGEST_STOP))  # how long it lasts is what is tried
    for pid in pids:
        send(pid, SIGCONT)


def schedulers(tree: WorkerTree) -> list[int]:
    """The scheduler processes of a worker."""
    return [pid for pid in family(tree.pid) if "hubqueue.scheduler" in words_of(pid)]


def words_of(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except OSError:
        return []


FAULTS: dict[Fault, int] = {
    kill_child: 6,
    kill_supervisor: 2,
    kill_tree: 2,
    kill_scheduler: 3,
    stop_child: 3,
    stop_supervisor: 2,
    stop_scheduler: 2,
    stop_tree: 2,
    roll: 1,
    kill_enqueuers: 2,
}
