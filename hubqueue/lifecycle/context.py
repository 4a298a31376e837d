"""What a handler is given: the job it runs, and the few things it may do to it."""

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction

from hubqueue.errors import HeldNothing, StopRequested
from hubqueue.lifecycle.async_transaction import AsyncTransaction
from hubqueue.lifecycle.guard import Claimed, hold
from hubqueue.states import Stop


class Watch(msgspec.Struct):
    """What the worker remembers about a running attempt between two renewal rounds. Plain assignments only."""

    progress: float | None = None
    stop: Stop | None = None
    lost: bool = False


class JobContext(msgspec.Struct, frozen=True):
    """One attempt of one job, as its handler sees it.

    ``attempt`` counts from 1. ``effect_key`` is the same string over all attempts of the job: use it as
    the idempotency key of an effect outside the database. ``using`` is the database alias of the queue.
    """

    claimed: Claimed
    using: str
    detached: bool
    watch: Watch = msgspec.field(default_factory=Watch)

    @property
    def id(self) -> UUID:
        return self.claimed.id

    @property
    def kind(self) -> str:
        return self.claimed.kind

    @property
    def queue(self) -> str:
        return self.claimed.queue

    @property
    def tenant(self) -> str | None:
        return self.claimed.tenant

    @property
    def attempt(self) -> int:
        return self.claimed.attempts

    @property
    def max_attempts(self) -> int:
        return self.claimed.max_attempts

    @property
    def dedupe_key(self) -> str | None:
        return self.claimed.dedupe_key

    @property
    def run_at(self) -> datetime:
        """The moment this run was due, on the database's clock."""
        return self.claimed.run_at

    @property
    def meta(self) -> dict[str, Any]:
        """What the enqueuer sent along: ``traceparent``, ``caller``, and the tick of a periodic job."""
        return dict(self.claimed.meta)

    @property
    def effect_key(self) -> str:
        return str(self.claimed.id)

    def hold(self) -> None:
        """Lock the job's own row in the open transaction, after checking that this attempt still holds it.

        The price: whoever enqueues the same dedupe key waits until this transaction ends. A wake-up needs
        no hold, ``rerun_at`` catches it. Raises ``LeaseLost``, or ``HeldNothing`` outside a transaction.
        """
        if not transaction.get_connection(self.using).in_atomic_block:
            raise HeldNothing(
                "hold() needs an open transaction: a detached handler uses job.transaction()"
            )
        hold(self.claimed, using=self.using)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction whose writes count only while this attempt holds its job (else ``LeaseLost``)."""
        with transaction.atomic(using=self.using):
            self.hold()
            yield

    def atransaction(self) -> AbstractAsyncContextManager[None]:
        """The same for ``async def`` handlers: every database call of the block belongs to it, the ORM's ``a``
        methods and ``sync_to_async`` functions included. Keep the network out of it: it holds a connection."""
        return AsyncTransaction(self.hold, using=self.using)

    def progress(self, share: float) -> None:
        """Remember how far the work is, 0 to 1. It is written with the next renewal, not now."""
        share = float(share)
        if not 0 <= share <= 1:
            raise ValueError("progress takes a number from 0 to 1")
        self.watch.progress = share

    @property
    def cancelled(self) -> bool:
        """Whether the handler should stop early: an officer asked for it, or the lease is lost."""
        return self.watch.stop is not None or self.watch.lost

    def checkpoint(self) -> None:
        """Raise ``StopRequested`` when the handler should stop early. Costs nothing: it reads memory."""
        if self.cancelled:
            raise StopRequested("stop requested" if self.watch.stop else "lease lost")
