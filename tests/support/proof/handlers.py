"""Handlers that behave as a proof asks. Each says in a file that it runs, so that a test can wait for it."""

import ctypes
import os
import re
import signal
import socket
import subprocess
import time
from contextlib import suppress
from datetime import timedelta
from functools import partial

from django.db import DatabaseError, connection, transaction

from hubqueue.api import Backoff, Dead, Done, JobContext, Park, Repeat, Result, Retry, handler
from tests.support.proof.gates import has, read, say, wait_for

SOON = Backoff(base=timedelta(milliseconds=100), cap=timedelta(seconds=1))
MANY = 1000
# Calls through PyDLL keep the interpreter's lock: nothing else in the process runs meanwhile.
HOLDING_THE_GIL = ctypes.PyDLL(None)


def began(job: JobContext, name: str) -> str:
    """Say that this attempt runs, and which: ``name-1`` for the first."""
    say(f"{name}-{job.attempt}", f"{os.getpid()} {job.claimed.claimed_by} {job.claimed.fence}")
    say("attempts", f"{name} {job.attempt} {os.getpid()} {job.claimed.fence}")
    return f"{name}-{job.attempt}"


def write(name: str) -> None:
    """The effect: a row that may exist once."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO proof_effect (name) VALUES (%s)", [name])


@handler("proof.effect", max_attempts=MANY, backoff=SOON)
def effect(job: JobContext, *, name: str, seconds: float = 0.0, hold: bool = False) -> None:
    """Write the effect, then go on for a while."""
    began(job, name)
    if hold:
        job.hold()
    write(name)
    if seconds:
        time.sleep(seconds)


@handler("proof.effect_grouped", group=5, max_attempts=MANY, backoff=SOON)
def effect_grouped(job: JobContext, *, name: str, seconds: float = 0.0, hold: bool = False) -> None:
    """The same, in one commit with others of its kind."""
    effect(job, name=name, seconds=seconds, hold=hold)


@handler("proof.slow_grouped", group=12, timeout=timedelta(seconds=1))
def slow_grouped(job: JobContext, *, name: str, seconds: float) -> None:
    """In one commit with others, as long as they are in time together."""
    effect(job, name=name, seconds=seconds, hold=False)


@handler(
    "proof.mixed_grouped",
    group=8,
    pipeline=True,
    max_attempts=MANY,
    backoff=SOON,
    timeout=timedelta(seconds=2),
)
def mixed_grouped(job: JobContext, *, name: str, how: str) -> None:
    """In one commit with others, some of whom spoil it at their first attempt, each in a way of its own."""
    began(job, name)
    write(name)
    time.sleep(0.02)
    if how == "hook":
        transaction.on_commit(fail)
        transaction.on_commit(partial(say, "hooked", name))
    elif job.attempt == 1:
        spoil(name, how)


def spoil(name: str, how: str) -> None:
    """What a handler may do to the transaction that it shares."""
    match how:
        case "swallow":
            with connection.cursor() as cursor, suppress(DatabaseError):
                cursor.execute("SELECT 1 / 0")
        case "defer":
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO proof_deferred VALUES (%s), (%s)", [name, name])
        case "late":
            while True:
                time.sleep(0.01)
        case "fail":
            fail()


def fail() -> None:
    raise RuntimeError("as asked")


@handler("proof.nap", max_attempts=5, backoff=SOON)
def nap(job: JobContext, *, name: str, seconds: float) -> None:
    """A good neighbour."""
    began(job, name)
    time.sleep(seconds)
    write(name)


@handler("proof.beside", max_attempts=5, backoff=SOON)
def beside(job: JobContext, *, name: str) -> None:
    """A good neighbour that is in flight until the test lets it go."""
    wait_for(f"go-{began(job, name)}")
    write(name)


@handler("proof.poison", max_attempts=3, backoff=SOON)
def poison(job: JobContext, *, name: str) -> None:
    """Kill its own process, once the test lets this run of it."""
    began(job, name)
    wait_for(f"go-{job.claimed.fence}")
    os.kill(os.getpid(), signal.SIGKILL)


@handler("proof.severed", group=5, max_attempts=2, backoff=SOON)
def severed(job: JobContext, *, name: str, sever: bool) -> None:
    """In one commit with others. Some end their own session, every time."""
    began(job, name)
    write(name)
    if sever:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def act(job: JobContext, name: str) -> Result | None:
    """Wait at this run's own gate; then do what is written there: write, guarded, progress, and an outcome."""
    fence = job.claimed.fence
    wait_for(f"go-{fence}")
    words = read(f"go-{fence}")
    if "write" in words:
        write(f"{name} by {fence}")
    if "progress" in words:
        job.progress(0.5)
        wait_for(f"told-{fence}")
    if "guarded" in words:
        with job.transaction():
            write(f"{name} guarded by {fence}")
    if "checkpoint" in words:
        job.checkpoint()
    match words:
        case [*_, "fail"]:
            raise RuntimeError("as asked")
        case [*_, "retry"]:
            return Retry(after=timedelta(seconds=1))
        case [*_, "dead"]:
            return Dead("as_asked")
        case [*_, "park"]:
            return Park("as asked")
        case [*_, "repeat"]:
            return Repeat(after=timedelta(hours=1))
    say(f"ended-{name}")
    return Done({"by": fence})


@handler("proof.gated", max_attempts=5, backoff=SOON)
def gated(job: JobContext, *, name: str) -> Result | None:
    """Transactional: wait at the gate of this run (``go-`` and its fence), then do what is written there."""
    began(job, name)
    return act(job, name)


@handler("proof.gated_grouped", group=2, max_attempts=5, backoff=SOON)
def gated_grouped(job: JobContext, *, name: str) -> Result | None:
    """In one commit with another: the same."""
    began(job, name)
    return act(job, name)


@handler("proof.gated_detached", detached=True, max_attempts=5, backoff=SOON)
def gated_detached(job: JobContext, *, name: str) -> Result | None:
    """Detached: the same."""
    began(job, name)
    return act(job, name)


@gated_detached.on_abandon
def abandoned(job: JobContext) -> None:
    """Leave a trace in the move's transaction."""
    write(f"abandoned {job.claimed.payload['name']}")


@handler("proof.long", detached=True, queue="backups", max_attempts=5, backoff=SOON)
def long(job: JobContext, *, name: str) -> Result:
    """Report progress and stop early when asked."""
    attempt = began(job, name)
    job.progress(0.25)
    while not has(f"go-{attempt}"):
        job.checkpoint()
        time.sleep(0.01)
    say("ended", name)
    return Done({"by": job.attempt})


@long.on_abandon
def long_abandoned(job: JobContext) -> None:
    """Leave a trace in the move's transaction."""
    write(f"abandoned {job.claimed.payload['name']}")


@handler("proof.hang", timeout=timedelta(seconds=1), max_attempts=1)
def hang(job: JobContext, *, name: str, how: str) -> None:
    """Never end by itself."""
    began(job, name)
    write(name)
    match how:
        case "sleep":
            time.sleep(600)
        case "sql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(600)")
        case "held row":
            job.hold()
            # The server works on while nobody here can hear a cancel: it outlives this process by a moment.
            connection.connection.pgconn.send_query(b"SELECT pg_sleep(600)")
            HOLDING_THE_GIL.sleep(600)
        case "swallowed sql":
            try:
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_sleep(600)")
            except Exception:
                return
        case "socket":
            ours, theirs = socket.socketpair()
            ours.recv(1)
            theirs.close()
        case "subprocess":
            subprocess.run(["sleep", "600"], check=False)
        case "loop":
            while True:
                pass
        case "regex":
            re.match(r"(a+)+$", "a" * 60 + "b")
        case "pow":
            pow(3, 1 << 40)
        case "gil":
            HOLDING_THE_GIL.sleep(600)


@handler("proof.stubborn", max_attempts=3, backoff=SOON)
def stubborn(job: JobContext, *, name: str) -> None:
    """Catch everything, and go on."""
    attempt = began(job, name)
    while not has(f"go-{attempt}"):
        try:
            wait_for(f"go-{attempt}")
        except BaseException as caught:
            say("caught", type(caught).__name__)


@handler("proof.gil", detached=True, max_attempts=5, backoff=SOON)
def gil(job: JobContext, *, name: str, seconds: int) -> Result:
    """Hold the interpreter's lock: no other thread of this process runs meanwhile."""
    began(job, name)
    HOLDING_THE_GIL.sleep(seconds)
    return Done({"by": job.attempt})


LEAKED: list[bytearray] = []


@handler("proof.leak", max_attempts=5, backoff=SOON)
def leak(job: JobContext, *, name: str, mebibytes: int) -> None:
    """Keep memory for ever."""
    began(job, name)
    LEAKED.append(bytearray(b"x") * (mebibytes << 20))
    write(name)


def leave_open(how: str) -> None:
    """Leave the connection inside a transaction."""
    match how:
        case "autocommit off":
            transaction.set_autocommit(False)
        case "atomic":
            transaction.atomic().__enter__()
        case "begin":
            with connection.cursor() as cursor:
                cursor.execute("BEGIN")


@handler("proof.sloppy", max_attempts=1)
def sloppy(job: JobContext, *, name: str, how: str, fail: bool) -> None:
    """Transactional: leave a transaction open, and return or raise."""
    began(job, name)
    leave_open(how)
    write(name)
    if fail:
        raise RuntimeError("as asked")


@handler("proof.sloppy_detached", detached=True, max_attempts=1)
def sloppy_detached(job: JobContext, *, name: str, how: str, fail: bool) -> None:
    """Detached: the same."""
    began(job, name)
    leave_open(how)
    write(name)
    if fail:
        raise RuntimeError("as asked")
