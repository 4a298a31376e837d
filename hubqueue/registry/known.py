"""All that is registered in this process, and how handlers get there."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ParamSpec

from asgiref.sync import iscoroutinefunction
from django.core.exceptions import ImproperlyConfigured

from hubqueue.policy import Backoff
from hubqueue.registry.handlers import Function, Handler

if TYPE_CHECKING:
    from hubqueue.registry.duties import Duty
    from hubqueue.registry.pollers import Poller
    from hubqueue.registry.schedules import Schedule

P = ParamSpec("P")
MOST_ATTEMPTS = 2**31 - 1  # what the column holds


class Registry:
    """All that is registered in this process, by name."""

    def __init__(self) -> None:
        self.handlers: dict[str, Handler[Any]] = {}
        self.by_kind: dict[str, Handler[Any]] = {}
        self.schedules: dict[str, Schedule] = {}
        self.pollers: dict[str, Poller] = {}
        self.duties: dict[str, Duty] = {}

    def add_handler(self, handler: Handler[Any]) -> None:
        kinds = (handler.kind, *handler.aliases)
        for kind in kinds:
            standing = self.by_kind.get(kind)
            if standing is not None and not _same_function(standing, handler):
                raise ImproperlyConfigured(
                    f"Two handlers claim the kind {kind!r}: {standing.signature.name}"
                    f" and {handler.signature.name}."
                )
        self.by_kind |= dict.fromkeys(kinds, handler)
        self.handlers[handler.kind] = handler

    def find(self, kind: str) -> Handler[Any] | None:
        """The handler of ``kind`` or of its alias, or None."""
        return self.by_kind.get(kind)

    def kinds(self, *, is_async: bool | None = None) -> list[str]:
        """Every kind and alias this code can run, sorted; only those of ``async def`` handlers, or only the others."""
        return sorted(
            kind
            for kind, each in self.by_kind.items()
            if is_async is None or each.is_async is is_async
        )


registry = Registry()


def handler(
    kind: str,
    *,
    detached: bool = False,
    queue: str = "default",
    priority: int = 0,
    max_attempts: int = 10,
    timeout: timedelta | None = None,
    backoff: Backoff | None = None,
    give_up_after: timedelta | None = None,
    aliases: Sequence[str] = (),
    group: int = 1,
    pipeline: bool = False,
) -> Callable[[Function[P]], Handler[P]]:
    """Register a function as the handler of ``kind``.

    Transactional unless ``detached``: its writes and the job's completion are one commit. ``priority``:
    lower first, strict inside a queue. ``aliases`` are former kinds whose rows it still runs. ``group``:
    up to so many transactional jobs share one commit; when one of them fails, all are rolled back and run
    one by one, so each still takes effect exactly once. For short handlers that write little. ``pipeline``:
    in a group, statements wait for no answer until the handler reads one, so an error is raised late.
    An ``async def`` must be detached; many of them run at a time on the event loop of a worker child.
    """
    if not kind or len(kind) > 100 or not all(part.isidentifier() for part in kind.split(".")):
        raise ImproperlyConfigured(f"A kind is dotted words of up to 100 characters, got {kind!r}.")
    if not 1 <= max_attempts <= MOST_ATTEMPTS:
        raise ImproperlyConfigured(
            f"{kind}: max_attempts must be 1 to {MOST_ATTEMPTS}, got {max_attempts}."
        )
    if timeout is not None and timeout <= timedelta(0):
        raise ImproperlyConfigured(f"{kind}: timeout must be longer than nothing, got {timeout}.")
    if not 1 <= group <= 1000 or (group > 1 and detached):
        raise ImproperlyConfigured(
            f"{kind}: group is 1 to 1000 and for transactional handlers, got {group}."
        )
    if pipeline and group == 1:
        raise ImproperlyConfigured(f"{kind}: pipeline=True is for a group, got group=1.")
    if not -(2**15) <= priority < 2**15:
        raise ImproperlyConfigured(f"{kind}: priority must fit 16 bits, got {priority}.")

    def register(function: Function[P]) -> Handler[P]:
        if iscoroutinefunction(function) and not detached:
            raise ImproperlyConfigured(
                f"{kind}: an async def handler must be detached=True, got a transactional one: no transaction can"
                " be held while the event loop runs others."
            )
        made: Handler[P] = Handler(
            function,
            kind,
            detached=detached,
            queue=queue,
            priority=priority,
            max_attempts=max_attempts,
            timeout=timeout,
            backoff=backoff or Backoff(),
            give_up_after=give_up_after,
            aliases=tuple(aliases),
            group=group,
            pipeline=pipeline,
        )
        registry.add_handler(made)
        return made

    return register


def _same_function(one: Handler[Any], other: Handler[Any]) -> bool:
    return one.signature.name == other.signature.name
