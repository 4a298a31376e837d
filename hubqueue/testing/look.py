"""Look at what was enqueued."""

from typing import Any

from hubqueue.errors import PayloadRefused
from hubqueue.lifecycle.database import alias
from hubqueue.models import Job
from hubqueue.registry import Handler


def enqueued(kind: Handler[...] | str | None = None) -> list[Job]:
    """The unfinished jobs (of a handler or a kind), oldest first."""
    found = Job.objects.using(alias()).unfinished().order_by("id")
    if isinstance(kind, Handler):
        return list(found.filter(kind__in=[kind.kind, *kind.aliases]))
    return list(found if kind is None else found.filter(kind=kind))


def assert_enqueued(handler: Handler[...], /, **arguments: Any) -> Job:
    """Assert that exactly one unfinished job of ``handler`` has these arguments; answer it.

    Arguments that are not named may be anything. They are compared as the handler will get them.
    """
    found = _with(handler, arguments)
    if len(found) == 1:
        return found[0]
    what = f"{len(found)} such jobs" if found else "none"
    raise AssertionError(
        f"expected one unfinished {handler.kind} with {_shown(arguments)}, found {what};"
        f" unfinished are: {_listed(handler)}"
    )


def assert_not_enqueued(handler: Handler[...], /, **arguments: Any) -> None:
    """Assert that no unfinished job of ``handler`` has these arguments."""
    found = _with(handler, arguments)
    if found:
        raise AssertionError(
            f"expected no unfinished {handler.kind} with {_shown(arguments)}, found {len(found)}"
        )


def _with(handler: Handler[...], arguments: dict[str, Any]) -> list[Job]:
    unknown = sorted(set(arguments) - set(handler.signature.types))
    if unknown:
        raise TypeError(f"{handler.kind} takes no argument {unknown[0]!r}")
    signature = handler.signature
    given = {name: signature.read(name, signature.write(name, v)) for name, v in arguments.items()}
    return [job for job in enqueued(handler) if _matches(handler, job, given)]


def _matches(handler: Handler[...], job: Job, arguments: dict[str, Any]) -> bool:
    try:
        stored = handler.signature.decode(job.payload)
    except PayloadRefused:
        return False
    missing = object()
    return all(stored.get(name, missing) == value for name, value in arguments.items())


def _shown(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items()) or "any arguments"


def _listed(handler: Handler[...]) -> str:
    payloads = [str(job.payload) for job in enqueued(handler)]
    shown = "; ".join(payloads[:10]) or "none"
    return shown if len(payloads) <= 10 else f"{shown}; and {len(payloads) - 10} more"
