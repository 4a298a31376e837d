"""Functions as an application declares them: ``@task`` and nothing else."""

from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.db import connection

from tests.tasks.framework import task

SEEN: list[Any] = []


class Refused(Exception):
    """What an application raises."""


@task
def add(one: int, other: int = 1) -> int:
    return one + other


@task
def echo(*args: Any, **kwargs: Any) -> dict[str, Any]:
    return {"args": args, "kwargs": kwargs}


@task
def nothing() -> None:
    """Answers nothing."""


@task
def fail(secret: str = "") -> None:
    Group.objects.create(name=f"before {secret}")
    raise Refused(f"no {secret}")


@task
def unstorable() -> object:
    return object()


@task
def long_answer() -> str:
    return "x" * 1_000_000


@task
async def add_async(one: int) -> int:
    return one + 1


@task
async def wait_for_ever() -> None:
    import asyncio

    await asyncio.Event().wait()


@task
async def raise_own_timeout() -> None:
    raise TimeoutError


@task
async def write_async(name: str) -> bool:
    """Writes a row from inside a loop; answers whether a transaction was open."""
    await Group.objects.acreate(name=name)
    return await sync_to_async(lambda: connection.in_atomic_block)()


@task(takes_context=True)
def tell_context(context: Any, word: str) -> dict[str, Any]:
    result = context.task_result
    return {
        "attempt": context.attempt,
        "id": result.id,
        "word": word,
        "args": result.args,
        "path": result.task.module_path,
        "status": result.status,
    }


@task(takes_context=True)
def fail_at_first(context: Any) -> int:
    SEEN.append((context.attempt, [each.exception_class for each in context.task_result.errors]))
    if context.attempt == 1:
        raise Refused
    return int(context.attempt)


@task(takes_context=True)
def act(context: Any, script: str) -> Any:
    """Does what the test registered under a name."""
    return SCRIPTS[script](context)


@task
def write(name: str) -> bool:
    """Writes a row; answers whether a transaction was open."""
    Group.objects.create(name=name)
    return bool(connection.in_atomic_block)


@task
def see(word: str) -> None:
    SEEN.append(word)


SCRIPTS: dict[str, Any] = {}


def plain() -> None:
    """Declared below under another name."""


renamed = task(plain)
