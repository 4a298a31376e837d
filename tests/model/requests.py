"""Steps of who enqueues."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from hypothesis import strategies as st

from hubqueue.api import Enqueued, Item
from hubqueue.lifecycle.enqueue import Outcome
from hubqueue.querysets import database_now
from hubqueue.registry import Prepared
from tests.model.book import Book, New
from tests.model.deed import pick_from
from tests.model.kinds import KINDS
from tests.model.moments import Moment, Span, earlier, span
from tests.model.row import ANY, PARKED, READY, RUNNING, Row

TENANTS = [None, "a", "b", "c"]
MINUTES = [None, None, 0, -20, 10, 40, 120]


class GoneBack(Exception):
    """The application's transaction fails."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request. ``minutes`` from now (None = no moment given)."""

    kind: str
    key: str | None
    tenant: str | None
    priority: int
    minutes: int | None
    n: int

    def prepared(self, run_at: datetime | None) -> Prepared[...]:
        return KINDS[self.kind].using(
            tenant=self.tenant, dedupe_key=self.key, priority=self.priority, run_at=run_at
        )


ASK = st.builds(
    Ask,
    kind=st.sampled_from(["model.plain", "model.plain", "model.mail", "model.stubborn"]),
    key=st.sampled_from(["k", "k", "l", None, None]),
    tenant=st.sampled_from(TENANTS),
    priority=st.sampled_from([0, 0, 5, -5]),
    minutes=st.sampled_from(MINUTES),
    n=st.integers(0, 1),
)


@dataclass(frozen=True, slots=True)
class Enqueue:
    """One request, or several in one call. ``rolled_back``: the transaction around it fails."""

    asks: tuple[Ask, ...]
    bulk: bool
    rolled_back: bool
    alike: bool

    def of_one_key(self) -> "Enqueue":
        """The same, all for one key."""
        asks = (replace(each, kind="model.plain", key="k") for each in self.asks)
        return replace(self, asks=tuple(asks))

    def deed(self, book: Book, pick: int) -> "Enqueueing":
        """With ``alike`` the first request is for the key of a job that stands."""
        keyed = [row for row in book.in_order() if row.unfinished and row.dedupe_key]
        if not (self.alike and keyed):
            return Enqueueing(self)
        row = keyed[-1 - pick % len(keyed)]
        first = replace(self.asks[0], kind=row.kind, key=row.dedupe_key)
        return Enqueueing(replace(self, asks=(first, *self.asks[1:])))


@dataclass(frozen=True, slots=True)
class Wake:
    """A request for the key of a job that ran already, runs, or is set aside."""

    ask: Ask

    def deed(self, book: Book, pick: int) -> "Enqueueing | None":
        row = pick_from(sleepers(book), pick)
        if row is None:
            return None
        ask = replace(self.ask, kind=row.kind, key=row.dedupe_key)
        return Enqueueing(Enqueue((ask,), bulk=False, rolled_back=False, alike=False))


def sleepers(book: Book) -> list[Row]:
    """Jobs whose key meets another row of the dedupe table than the first."""
    return [
        row
        for row in book.in_order()
        if row.unfinished and row.dedupe_key and (row.state != READY or row.attempts)
    ]


class Enqueueing:
    """The request made, each moment known once it is made."""

    def __init__(self, what: Enqueue) -> None:
        self.what = what
        self.moments: list[datetime | None] = []

    def do(self) -> list[Enqueued] | None:
        try:
            with transaction.atomic():
                answers = self._ask()
                if self.what.rolled_back:
                    raise GoneBack
                return answers
        except GoneBack:
            return None

    def _ask(self) -> list[Enqueued]:
        present = database_now("default")
        self.moments = [
            None if each.minutes is None else present + timedelta(minutes=each.minutes)
            for each in self.what.asks
        ]
        given = list(zip(self.what.asks, self.moments, strict=True))
        if not self.what.bulk:
            return [each.prepared(moment).enqueue(n=each.n) for each, moment in given[:1]]
        items: list[Item] = [each.prepared(moment).item(n=each.n) for each, moment in given]
        return KINDS["model.plain"].enqueue_many(items)

    def told(self, book: Book, answer: list[Enqueued] | None, now: Span, new: New) -> None:
        if answer is None:
            return
        asks = self.what.asks if self.what.bulk else self.what.asks[:1]
        assert len(answer) == len(asks), "an answer per request"
        groups: dict[tuple[str, str], list[int]] = {}
        for index, ask in enumerate(asks):
            name = ("" if ask.key is None else ask.kind, ask.key or str(index))
            groups.setdefault(name, []).append(index)
        for indices in groups.values():
            self._one_row(book, [asks[i] for i in indices], indices, answer, now)

    def _one_row(
        self, book: Book, asks: list[Ask], indices: list[int], answer: list[Enqueued], now: Span
    ) -> None:
        """Requests of one key in one call are one request: the first's, at the earliest moment, most urgent."""
        first = asks[0]
        moment = self._moment(indices, now)
        priority = min(ask.priority for ask in asks)
        standing = book.standing(first.kind, first.key)
        if standing is None:
            row = Row(
                id=answer[indices[0]].id,
                kind=first.kind,
                queue=KINDS[first.kind].queue,
                priority=priority,
                tenant_id=first.tenant,
                payload={"n": first.n},
                dedupe_key=first.key,
                run_at=moment,
                max_attempts=KINDS[first.kind].max_attempts,
                created_at=now,
                meta={},
            )
            book.add(row)
            outcomes = [Outcome.NEW, *[Outcome.COLLAPSED] * (len(asks) - 1)]
        else:
            row = book.change(
                standing, priority=min(standing.priority, priority), **_served(standing, moment)
            )
            outcomes = [_OUTCOMES[row.state]] * len(asks)
        for ask, index, outcome in zip(asks, indices, outcomes, strict=True):
            expected = Enqueued(row.id, outcome, row.payload == {"n": ask.n})
            assert answer[index] == expected, f"expected {expected}, got {answer[index]}"
        book.events.append(("asked", row))
        book.locked |= {row.id}

    def _moment(self, indices: list[int], now: Span) -> Moment:
        found: Moment | None = None
        for index in indices:
            found = earlier(found, self.moments[index] or now)
        assert found is not None
        if len(indices) > 1 and None in [self.moments[i] for i in indices]:
            # Beside a request for now, one that is dated back may count as one for now: both are due.
            return Span(span(found).earliest, max(span(found).latest, now.latest))
        return found


_OUTCOMES = {READY: Outcome.COLLAPSED, RUNNING: Outcome.RERUN, PARKED: Outcome.PARKED}


def _served(row: Row, moment: Moment) -> dict[str, Any]:
    """The dedupe table of the contract."""
    if row.state == RUNNING:
        return {"rerun_at": earlier(row.rerun_at, moment)}
    if row.state == PARKED:
        return {}
    if row.attempts == 0:
        return {"run_at": earlier(row.run_at, moment)}
    if isinstance(moment, Span) and moment.earliest <= row.run_at <= moment.latest:
        return {"rerun_at": ANY}  # it may be of before the retry, which serves it, or of after
    if earlier(row.run_at, moment) != row.run_at:
        return {}
    # What the retry serves anyway takes no later moment's place.
    pending = row.rerun_at if earlier(row.rerun_at, row.run_at) == row.run_at else None
    return {"rerun_at": earlier(pending, moment)}


ENQUEUE = st.builds(
    Enqueue,
    asks=st.tuples(ASK),
    bulk=st.booleans(),
    rolled_back=st.just(False),
    alike=st.booleans(),
)
ALIKE = st.builds(
    Enqueue,
    asks=st.tuples(ASK),
    bulk=st.just(True),
    rolled_back=st.just(False),
    alike=st.just(True),
)
ENQUEUE_MANY = st.builds(
    Enqueue,
    asks=st.lists(ASK, min_size=2, max_size=6).map(tuple),
    bulk=st.just(True),
    rolled_back=st.sampled_from([False, False, False, True]),
    alike=st.booleans(),
)
WAKE = st.builds(Wake, ask=ASK)


def crowd(kind: str, priority: int, each: int) -> Enqueue:
    """So many jobs of every tenant, due now, by one call."""
    asks = tuple(Ask(kind, None, tenant, priority, None, 0) for tenant in TENANTS * each)
    return Enqueue(asks, bulk=True, rolled_back=False, alike=False)


CROWD = st.builds(
    crowd,
    kind=st.sampled_from(["model.plain", "model.mail"]),
    priority=st.sampled_from([0, 5]),
    each=st.integers(1, 2),
)
