"""One handler per shape of work. The effect of each is a row that may exist once."""

import os
import time
from datetime import timedelta
from functools import partial

from django.db import connection

from hubqueue.api import Backoff, Done, JobContext, Result, handler
from tests.faults.burden.tables import DO, DO_ALL_OF_KEY
from tests.support.proof.gates import say

SOON = Backoff(base=timedelta(milliseconds=200), cap=timedelta(seconds=1))
MANY = 1000


class Asked(Exception):
    """The failure that the load itself asks for."""

    code = "asked"


def began(job: JobContext) -> None:
    """Say that an attempt runs, and under which fence: also one whose transaction will be lost."""
    say("runs", f"{job.id} {job.claimed.fence} {os.getpid()} {job.kind}")


def do(job: JobContext, name: str) -> None:
    """The effect."""
    with connection.cursor() as cursor:
        cursor.execute(DO, [name, job.claimed.fence])


@handler("burden.plain", max_attempts=MANY, backoff=SOON)
def plain(job: JobContext, *, name: str, seconds: float = 0.0, hold: bool = False) -> None:
    """Transactional, one commit per job."""
    began(job)
    if hold:
        job.hold()
    do(job, name)
    time.sleep(seconds)


@handler("burden.grouped", group=10, pipeline=True, max_attempts=MANY, backoff=SOON)
def grouped(job: JobContext, *, name: str) -> None:
    """Transactional, many jobs in one commit."""
    began(job)
    do(job, name)


@handler("burden.detached", detached=True, max_attempts=MANY, backoff=SOON)
def detached(job: JobContext, *, name: str, seconds: float = 0.0) -> Result:
    """At least once outside, over a session that idles meanwhile; the row belongs to the settle."""
    began(job)
    with job.transaction():
        pass
    time.sleep(seconds)
    with job.transaction():
        pass
    return Done({"by": job.claimed.fence, "clock": time.time()}, record=partial(do, job, name))


@handler("burden.wake", max_attempts=MANY, backoff=SOON)
def wake(job: JobContext, *, key: str, seconds: float = 0.0, hold: bool = False) -> None:
    """Do all that is wanted of its key by now. What is wanted later wakes it again."""
    began(job)
    if hold:
        job.hold()
    with connection.cursor() as cursor:
        cursor.execute(DO_ALL_OF_KEY, [job.claimed.fence, key])
    time.sleep(seconds)


@handler("burden.flaky", max_attempts=MANY, backoff=SOON)
def flaky(job: JobContext, *, name: str) -> None:
    """Fail first, after the effect was written: it must not stay."""
    began(job)
    do(job, name)
    if job.attempt == 1:
        raise Asked
