"""Handlers as they are registered, and the typed handles to enqueue them."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Concatenate, Generic, ParamSpec

from asgiref.sync import async_to_sync, iscoroutinefunction, sync_to_async
from django.core.exceptions import ImproperlyConfigured

from hubqueue.conf import conf
from hubqueue.lifecycle.context import JobContext
from hubqueue.lifecycle.enqueue import Enqueued, Request, enqueue, enqueue_many
from hubqueue.payload import Signature
from hubqueue.policy import Backoff
from hubqueue.results import Result

P = ParamSpec("P")
AbandonHook = Callable[[JobContext], object]
RedriveHook = Callable[[JobContext], object]
Coroutines = Callable[..., Coroutine[Any, Any, Result | None]]
Function = (
    Callable[Concatenate[JobContext, P], Result | None]
    | Callable[Concatenate[JobContext, P], Coroutine[Any, Any, Result | None]]
)


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

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """``enqueue`` for async code: a transaction by itself, or part of ``job.atransaction()``.

        Django has no transaction over awaits. What is to commit with other writes is one plain function with
        ``atomic()``, called by ``sync_to_async``. An await that is cancelled may have enqueued.
        """
        return await sync_to_async(enqueue)(self.item(*args, **kwargs).request)

    def item(self, *args: P.args, **kwargs: P.kwargs) -> Item:
        """The same request for ``enqueue_many``."""
        return Item(self._handler._request(self._options, args, kwargs))


class Handler(Generic[P]):
    """A registered function and its rules. Made by ``@handler``; call it to run the function itself.

    ``function`` is called synchronously whatever it is; ``coroutine`` is the function of an ``async def`` handler.
    """

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
        pipeline: bool,
    ) -> None:
        self._given = function
        self.coroutine: Coroutines | None = function if iscoroutinefunction(function) else None
        self.function: Callable[..., Result | None] = _synchronous(function)
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
        self.pipeline = pipeline
        self.signature = Signature(function)
        self.abandon_hook: AbandonHook | None = None
        self.redrive_hook: RedriveHook | None = None
        self._unmodified: Prepared[P] = Prepared(self, Options())
        self.__doc__ = function.__doc__
        self.__name__ = getattr(function, "__name__", kind)
        self.__module__ = function.__module__

    def __repr__(self) -> str:
        return f"<handler {self.kind}>"

    def __call__(self, job: JobContext, *args: P.args, **kwargs: P.kwargs) -> Any:
        return self._given(job, *args, **kwargs)

    @property
    def is_async(self) -> bool:
        """Whether it is an ``async def``, which the event loop runs."""
        return self.coroutine is not None

    @property
    def timeout(self) -> timedelta:
        """How long one attempt may run."""
        if self._timeout is not None:
            return self._timeout
        return conf().detached_timeout if self.detached else conf().transactional_timeout

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """Enqueue in the caller's transaction. Raises ``PayloadRefused``, and then nothing was stored."""
        return self._unmodified.enqueue(*args, **kwargs)

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> Enqueued:
        """``enqueue`` for async code: a transaction by itself, or part of ``job.atransaction()``."""
        return await self._unmodified.aenqueue(*args, **kwargs)

    def item(self, *args: P.args, **kwargs: P.kwargs) -> Item:
        """A request for ``enqueue_many``."""
        return self._unmodified.item(*args, **kwargs)

    def enqueue_many(self, items: Iterable[Item]) -> list[Enqueued]:
        """Enqueue all ``items`` in one round trip: an answer per item in input order, all or nothing."""
        return enqueue_many([each.request for each in items])

    async def aenqueue_many(self, items: Iterable[Item]) -> list[Enqueued]:
        """``enqueue_many`` for async code, as ``aenqueue`` is ``enqueue``."""
        return await sync_to_async(enqueue_many)([each.request for each in items])

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
        self._plain("on_abandon", hook, "gives the job up")
        self.abandon_hook = hook
        return hook

    def on_redrive(self, hook: RedriveHook) -> RedriveHook:
        """Register what takes up again what ``on_abandon`` ended.

        Runs when an officer redrives a dead letter, in that move's transaction, so that the job finds work when it
        runs. Where there is nothing it could do any more the hook raises ``MoveRefused(code, sentence)``, and the
        officer reads the sentence; anything else that it raises refuses the redrive as well.
        """
        self._plain("on_redrive", hook, "redrives the job")
        self.redrive_hook = hook
        return hook

    def _plain(self, name: str, hook: Callable[..., object], what: str) -> None:
        if iscoroutinefunction(hook):
            raise ImproperlyConfigured(
                f"{self.kind}: {name} takes a plain function, got an async def: it runs inside the transaction"
                f" that {what}."
            )

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


def _synchronous(function: Callable[..., Any]) -> Callable[..., Result | None]:
    return async_to_sync(function) if iscoroutinefunction(function) else function
