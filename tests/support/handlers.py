"""Handlers for tests. What the scripted ones do is a function the test gives, by a name."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.models import Group

from hubqueue.api import Backoff, Done, JobContext, Result, handler

Script = Callable[[JobContext], Result | None]

AsyncScript = Callable[[JobContext], Awaitable[Result | None]]

SCRIPTS: dict[str, Script] = {}
ASYNC_SCRIPTS: dict[str, AsyncScript] = {}
ABANDONED: dict[str, Callable[[JobContext], object]] = {}


@handler("sample.scripted", max_attempts=3)
def scripted(job: JobContext, *, script: str = "done") -> Result | None:
    """Transactional: does what the script says."""
    return SCRIPTS.get(script, lambda job: None)(job)


@handler("sample.scripted_detached", detached=True, max_attempts=3)
def scripted_detached(job: JobContext, *, script: str = "done") -> Result | None:
    """Detached: the same."""
    return SCRIPTS.get(script, lambda job: None)(job)


@handler("sample.scripted_async", detached=True, max_attempts=3)
async def scripted_async(job: JobContext, *, script: str = "done") -> Result | None:
    """On the event loop: the same."""
    return await ASYNC_SCRIPTS[script](job)


@scripted.on_abandon
@scripted_detached.on_abandon
def let_go(job: JobContext) -> None:
    """Does what the test asked for on abandon."""
    ABANDONED.get(job.claimed.payload.get("script", ""), lambda job: None)(job)


@handler("sample.stubborn", max_attempts=2, give_up_after=timedelta(hours=1))
def stubborn(job: JobContext) -> None:
    """Fails until both bounds are passed."""
    raise RuntimeError("never")


@handler("sample.mailed", queue="mail", backoff=Backoff(base=timedelta(seconds=60)))
def mailed(job: JobContext, *, to: str, copies: list[str] | None = None) -> Result:
    """Writes a row, and answers how many copies there are."""
    Group.objects.create(name=to)
    return Done({"copies": len(copies or [])})


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Box:
    width: int
    label: str = ""


@handler("sample.typed")
def typed(
    job: JobContext,
    *,
    uuid: UUID | None = None,
    moment: datetime | None = None,
    day: date | None = None,
    wait: timedelta | None = None,
    price: Decimal | None = None,
    colour: Colour | None = None,
    box: Box | None = None,
    boxes: list[Box] | None = None,
    number: int = 0,
    share: float = 0.0,
    text: str = "",
    texts: list[list[str]] | None = None,
    anything: Any = None,
    table: dict[str, int] | None = None,
) -> Result:
    """Takes one of everything that can be stored."""
    return Done()


@contextmanager
def script(function: Script) -> Iterator[str]:
    """A name under which the scripted handlers call ``function``."""
    name = f"script-{uuid4()}"
    SCRIPTS[name] = function
    try:
        yield name
    finally:
        del SCRIPTS[name]
        ABANDONED.pop(name, None)
