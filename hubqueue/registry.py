"""Which handlers, schedules, pollers and duties this code knows, and the typed handles to enqueue them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from django.core.exceptions import ImproperlyConfigured

from hubqueue.conf import conf
from hubqueue.lifecycle.context import JobContext
from hubqueue.lifecycle.enqueue import Enqueued, Request, enqueue, enqueue_many
from hubqueue.payload import Signature
from hubqueue.policy import Backoff
from hubqueue.results import Result

P = ParamSpec("P")
AbandonHook = Callable[[JobContext], object]
Function = Callable[Concatenate[JobContext, P], Result | None]


@dataclass(frozen=True, slots=True)
class Options:
    """What one request may say beside its arguments. None = the handler's own."""

    tenant: str | None = None
    dedupe_key: str | None = None
    run_at: datetime | None = None
    priority: int | None = None
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Item:
    """One validated request for ``enqueue_many``."""

    request: Request


class Prepared(Generic[P]):
    """A handler with options: ``score.using(tenant="t1").enqueue(...)``."""

    def __init__(self, handler: "Handler[P]", options: Options) -> None:
        self._handler = handler
        self._options = options

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """Enqueue in the caller's transaction. Raises ``PayloadRefused``, and then nothing was stored."""
        return enqueue(self.item(*args, **kwargs).request)

    def item(self, *args: P.args, **kwargs: P.kwargs) -> Item:
        """The same request for ``enqueue_many``."""
        return Item(self._handler._request(self._options, args, kwargs))


class Handler(Generic[P]):
    """A registered function and its rules. Made by ``@handler``; call it to run the function itself."""

    def __init__(
        self,
        function: Function[P],
        kind: str,
        *,
        detached: bool,
        queue: str,
        priority: int,
        max_attempts: int,
        timeout: timedelta | None,
        backoff: Backoff,
        give_up_after: timedelta | None,
        aliases: tuple[str, ...],
        group: int,
    ) -> None:
        self.function = function
        self.kind = kind
        self.detached = detached
        self.queue = queue
        self.priority = priority
        self.max_attempts = max_attempts
        self._timeout = timeout
        self.backoff = backoff
        self.give_up_after = give_up_after
        self.aliases = aliases
        self.group = group
        self.signature = Signature(function)
        self.abandon_hook: AbandonHook | None = None
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", kind)
        self.__module__ = function.__module__

    def __repr__(self) -> str:
        return f"<handler {self.kind}>"

    def __call__(self, job: JobContext, *args: P.args, **kwargs: P.kwargs) -> Result | None:
        return self.function(job, *args, **kwargs)

    @property
    def timeout(self) -> timedelta:
        """How long one attempt may run."""
        if self._timeout is not None:
            return self._timeout
        return conf().detached_timeout if self.detached else conf().transactional_timeout

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """Enqueue in the caller's transaction. Raises ``PayloadRefused``, and then nothing was stored."""
        return self.using().enqueue(*args, **kwargs)

    def item(self, *args: P.args, **kwargs: P.kwargs) -> Item:
        """A request for ``enqueue_many``."""
        return self.using().item(*args, **kwargs)

    def enqueue_many(self, items: Iterable[Item]) -> list[Enqueued]:
        """Enqueue all ``items`` in one round trip: an answer per item in input order, all or nothing."""
        return enqueue_many([each.request for each in items])

    def using(
        self,
        *,
        tenant: object | None = None,
        dedupe_key: str | None = None,
        run_at: datetime | None = None,
        priority: int | None = None,
        meta: dict[str, Any] | None = None,
    ) -> Prepared[P]:
        """The same handler with options for one request. ``tenant`` is stored as its ``str``."""
        options = Options(
            tenant=None if tenant is None else str(tenant),
            dedupe_key=dedupe_key,
            run_at=run_at,
            priority=priority,
            meta=meta or {},
        )
        return Prepared(self, options)

    def on_abandon(self, hook: AbandonHook) -> AbandonHook:
        """Register what lets go of things the run had taken outside its row.

        Runs when a job is given up for good (dead letter, cancel), in that move's transaction, inside a
        savepoint: a hook that raises is rolled back and recorded, the move stands. The arguments are in
        ``job.claimed.payload``, as JSON. The job runs no more, so ``job.transaction()`` raises ``LeaseLost``.
        """
        self.abandon_hook = hook
        return hook

    def _request(
        self, options: Options, args: Sequence[object], arguments: dict[str, Any]
    ) -> Request:
        if args:
            raise TypeError(f"{self.kind}: arguments are passed by name")
        return Request(
            kind=self.kind,
            queue=self.queue,
            priority=self.priority if options.priority is None else options.priority,
            tenant=options.tenant,
            payload=self.signature.encode(arguments, limit=conf().payload_limit),
            dedupe_key=options.dedupe_key,
            run_at=options.run_at,
            max_attempts=self.max_attempts,
            meta=options.meta,
        )


class Missed(StrEnum):
    """What a schedule does about ticks that passed while no scheduler led."""

    SKIP = "skip"
    LATEST = "latest"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Schedule:
    """A periodic job: ``handler`` is enqueued without arguments once per tick of ``cron`` in ``timezone``.

    ``limit`` bounds how many missed ticks ``Missed.ALL`` catches up (the newest ones).
    """

    name: str
    handler: Handler[[]]
    cron: str
    timezone: str
    missed: Missed
    limit: int


@dataclass(frozen=True, slots=True)
class Poller:
    """A self-repeating job under ``dedupe_key``. ``owes()`` answers the moment it must run, or None.

    A poller that owes a moment and has no unfinished job is enqueued again, and counted: it had died.
    """

    handler: Handler[[]]
    dedupe_key: str
    owes: Callable[[], datetime | None]


class Cadence(StrEnum):
    """How often a duty runs: at each tick, or at the first tick of each minute, hour or day (UTC)."""

    TICK = "tick"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class Duty:
    """Something the leading scheduler does. It must be idempotent and end within ``deadline``."""

    name: str
    run: Callable[[], object]
    cadence: Cadence
    deadline: timedelta


class Registry:
    """All that is registered in this process, by name."""

    def __init__(self) -> None:
        self.handlers: dict[str, Handler[Any]] = {}
        self.by_kind: dict[str, Handler[Any]] = {}
        self.schedules: dict[str, Schedule] = {}
        self.pollers: dict[str, Poller] = {}
        self.duties: dict[str, Duty] = {}

    def add_handler(self, handler: Handler[Any]) -> None:
        for kind in (handler.kind, *handler.aliases):
            standing = self.by_kind.get(kind)
            if standing is not None and not _same_function(standing, handler):
                raise ImproperlyConfigured(
                    f"Two handlers claim the kind {kind!r}: {standing.signature.name}"
                    f" and {handler.signature.name}."
                )
            self.by_kind[kind] = handler
        self.handlers[handler.kind] = handler

    def find(self, kind: str) -> Handler[Any] | None:
        """The handler of ``kind`` or of its alias, or None."""
        return self.by_kind.get(kind)

    def kinds(self) -> list[str]:
        """Every kind and alias this code can run, sorted."""
        return sorted(self.by_kind)


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
) -> Callable[[Function[P]], Handler[P]]:
    """Register a function as the handler of ``kind``.

    Transactional unless ``detached``: its writes and the job's completion are one commit. ``priority``:
    lower first, strict inside a queue. ``aliases`` are former kinds whose rows it still runs. ``group``:
    up to so many transactional jobs share one commit; when one of them fails, all are rolled back and run
    one by one, so each still takes effect exactly once. For short handlers that write little.
    """
    if not kind or len(kind) > 100 or not all(part.isidentifier() for part in kind.split(".")):
        raise ImproperlyConfigured(f"A kind is dotted words of up to 100 characters, got {kind!r}.")
    if max_attempts < 1:
        raise ImproperlyConfigured(f"{kind}: max_attempts must be at least 1, got {max_attempts}.")
    if not 1 <= group <= 1000 or (group > 1 and detached):
        raise ImproperlyConfigured(
            f"{kind}: group is 1 to 1000 and for transactional handlers, got {group}."
        )
    if not -(2**15) <= priority < 2**15:
        raise ImproperlyConfigured(f"{kind}: priority must fit 16 bits, got {priority}.")

    def register(function: Function[P]) -> Handler[P]:
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
        )
        registry.add_handler(made)
        return made

    return register


T = TypeVar("T", bound=Handler[[]])


def periodic(
    *,
    cron: str,
    timezone: str = "UTC",
    name: str | None = None,
    missed: Missed = Missed.LATEST,
    limit: int = 100,
) -> Callable[[T], T]:
    """Enqueue the decorated handler (one without required arguments) at every tick of ``cron``."""

    def register(made: T) -> T:
        schedule = Schedule(name or made.kind, made, cron, timezone, missed, limit)
        registry.schedules[schedule.name] = schedule
        return made

    return register


def poller(made: Handler[[]], *, dedupe_key: str, owes: Callable[[], datetime | None]) -> None:
    """Watch over a self-repeating job: see ``Poller``."""
    registry.pollers[dedupe_key] = Poller(made, dedupe_key, owes)


def duty(
    name: str, *, cadence: Cadence, deadline: timedelta = timedelta(seconds=10)
) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Register a function as a duty of the leading scheduler: see ``Duty``."""

    def register(run: Callable[[], object]) -> Callable[[], object]:
        registry.duties[name] = Duty(name, run, cadence, deadline)
        return run

    return register


def _same_function(one: Handler[Any], other: Handler[Any]) -> bool:
    return one.signature.name == other.signature.name


__all__ = [
    "AbandonHook",
    "Cadence",
    "Duty",
    "Handler",
    "Item",
    "Missed",
    "Poller",
    "Prepared",
    "Registry",
    "Schedule",
    "duty",
    "handler",
    "periodic",
    "poller",
    "registry",
    "replace",
]
