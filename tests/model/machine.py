"""The life of jobs as a state machine: steps by chance, each compared with the book, all laws after each."""

from datetime import timedelta
from functools import partial
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from hubqueue import officers
from hubqueue.lifecycle.claim import Lane
from hubqueue.lifecycle.guard import Claimed
from tests.model import laws
from tests.model.book import Book
from tests.model.claims import EVERY, QUEUES, Claim, ClaimSuspect, Seat, claims
from tests.model.deed import Deed, Recipe
from tests.model.endings import DONE, SETTLE, SETTLE_PAST, SETTLE_SOME, TOUCH, Settle
from tests.model.gone import ATTEND, CREW, HIDDEN, REAP, SEEN, SILENT, SOLO, Attend, Look
from tests.model.kinds import let_go
from tests.model.moments import Span
from tests.model.requests import ENQUEUE, ENQUEUE_MANY, Ask, Enqueue, Enqueueing
from tests.model.row import PARKED, UNFINISHED
from tests.model.runs import RUN, RUN_TOGETHER
from tests.model.verbs import REDRIVE_MANY, SHUT, VERB, WHY, Purge, Saying
from tests.model.wishes import Wishes
from tests.model.world import World

PICK = st.integers(0, 5)
CLAIM = claims([SEEN, HIDDEN, SILENT])
ASK = st.one_of(ENQUEUE, ENQUEUE, ENQUEUE_MANY)
END = st.one_of(SETTLE, SETTLE, SETTLE, SETTLE_SOME, SETTLE_PAST, TOUCH)
OFFICER = st.one_of(VERB, VERB, VERB, REDRIVE_MANY, SHUT)
MINUTES = st.sampled_from([10, 10, 60, 180, -10])
FIRST = st.one_of(ASK, CLAIM, SETTLE, SETTLE_SOME, VERB, SHUT, TOUCH)
SECOND = st.one_of(ASK, CLAIM, CLAIM, END, VERB, SHUT, REDRIVE_MANY, REAP, st.just(Purge()))


class Lifecycle(RuleBasedStateMachine):
    """Every rule is a step of somebody: who asks, workers, officers, time."""

    world: ClassVar[World]

    def __init__(self) -> None:
        super().__init__()
        self.world.reset()
        self.book = Book()
        self.wishes = Wishes()
        self.sweep = Look()
        self.seats = {worker: {queue: Seat(Lane(queue, 0)) for queue in QUEUES} for worker in CREW}
        self.seen: list[dict[str, Any]] = []
        self.whole = True

    @initialize(first=st.lists(ENQUEUE_MANY, max_size=2))
    def begin(self, first: list[Recipe]) -> None:
        for worker in CREW:
            self.play(Attend("register", worker))
        for each in first:
            self.play(each.deed(self.book, 0))

    @rule(what=ASK, pick=PICK)
    def ask(self, what: Recipe, pick: int) -> None:
        self.play(what.deed(self.book, pick))

    @rule(what=CLAIM)
    def claim(self, what: Claim) -> None:
        self.play(what.deed(self.book, 0, None if what.lost else self.seats[what.worker]))

    @rule(what=CLAIM)
    def claim_again(self, what: Claim) -> None:
        self.claim(what)

    @rule()
    def claim_suspect(self) -> None:
        if not self.book.held_by(SOLO):
            self.play(ClaimSuspect(SOLO, tuple(EVERY)))

    @rule(what=END, pick=PICK)
    def end(self, what: Recipe, pick: int) -> None:
        self.play(what.deed(self.book, pick))

    @rule(what=st.one_of(RUN, RUN, RUN_TOGETHER), pick=PICK)
    def run(self, what: Recipe, pick: int) -> None:
        self.play(what.deed(self.book, pick))

    @rule(what=st.one_of(ATTEND, REAP))
    def attend(self, what: Recipe) -> None:
        self.play(what.deed(self.book, 0))

    @rule()
    def look(self) -> None:
        self.play(self.sweep)

    @rule(what=OFFICER, pick=PICK)
    def officer(self, what: Recipe, pick: int) -> None:
        self.play(what.deed(self.book, pick))

    @rule(minutes=MINUTES, purge=st.sampled_from([False, False, True]))
    def pass_time(self, minutes: int, purge: bool) -> None:
        self.world.set_clock(max(timedelta(0), self.world.offset + timedelta(minutes=minutes)))
        if purge:
            self.play(Purge())

    @rule(first=FIRST, second=SECOND, pick=PICK, commit=st.booleans())
    def meet(self, first: Recipe, second: Recipe, pick: int, commit: bool) -> None:
        mine, theirs = first.deed(self.book, pick), second.deed(self.book, pick)
        if mine is not None and theirs is not None:
            self.duel(mine, theirs, commit=commit)

    @rule(queue=st.sampled_from(QUEUES), urgent=st.booleans())
    def take_turns(self, queue: str, urgent: bool) -> None:
        """One job at a time: as many looks as there are tenants serve every one of them.

        With ``urgent`` one tenant has a more urgent job each time in between.
        """
        claim = partial(self._take_one, urgent=urgent and not self.book.pauses)
        laws.check_turns(self.book, queue, self.world.now(), claim)

    def _take_one(self, queue: str, *, urgent: bool) -> Claimed:
        if urgent:
            kind = "model.plain" if queue == "default" else "model.mail"
            ask = Ask(kind, key=None, tenant="b", priority=-9, minutes=None, n=0)
            self.play(Enqueueing(Enqueue((ask,), bulk=False, rolled_back=False, alike=False)))
            assert self._take_one(queue, urgent=False).priority == -9
        what = Claim(HIDDEN, {queue: 1}, 1, tuple(EVERY))
        (claimed,) = self.play(what.deed(self.book, 0, self.seats[HIDDEN]))
        return claimed

    def play(self, deed: Deed | None) -> Any:
        """Do it, compare the answer with the book's, then every row with the book."""
        if deed is None:
            return None
        self.whole = False
        answer = self._told(deed, self.book)
        self._look(single=True)
        return answer

    def duel(self, mine: Deed, theirs: Deed, *, commit: bool) -> None:
        """Do one in a transaction that stays open while the rival does the other."""
        self.whole = False
        before, inside = self.book, self.book.copy()
        with self.world.transaction(commit=commit):
            self._told(mine, inside)
            earliest = self.world.now()
            future, waits = self.world.meet(theirs.do)
            if not waits:
                beside = before.copy()
                beside.locked = inside.locked
                span = Span(earliest, self.world.now())
                theirs.told(beside, future.result(), span, lambda: self.world.rival.do(self._new))
                self._check_hooks(beside)
        after = inside if commit else before.copy()
        after.past |= {(each.id, each.fence): each for each in _lost(inside, after)}
        if waits:
            laws.check_wait(theirs)
            answer = future.result(30)
            after.locked = frozenset()
            theirs.told(after, answer, Span(earliest, self.world.now()), self._new)
            self._check_hooks(after)
        else:
            after.join(before, beside)
        self.book = after
        self._look(single=False)

    def _told(self, deed: Deed, book: Book) -> Any:
        earliest = self.world.now()
        answer = deed.do()
        deed.told(book, answer, Span(earliest, self.world.now()), self._new)
        self._check_hooks(book)
        return answer

    def _new(self) -> list[dict[str, Any]]:
        return [row for row in self.world.rows() if row["id"] not in self.book.rows]

    def _check_hooks(self, book: Book) -> None:
        assert sorted(let_go) == sorted(book.abandoned), (
            "the abandon hook runs for what is given up"
        )
        let_go.clear()
        book.abandoned.clear()

    def _look(self, *, single: bool) -> None:
        rows = self.world.rows()
        for event in self.book.events:
            self.wishes.hear(event)
        self.book.events.clear()
        self.book.locked = frozenset()
        laws.check_rows(self.seen, rows, single=single)
        self.wishes.check(rows)
        laws.compare(self.book, self.world, rows)
        self.seen = rows
        self.whole = True

    def teardown(self) -> None:
        """In the end everything runs and succeeds, and nobody who asked was forgotten."""
        if not self.whole:
            return
        for scope, value in list(self.book.pauses):
            officers.resume(scope, value, **WHY)
        self.book.pauses.clear()
        self.book.entries = self.world.rest().entries
        for _ in range(12):
            self._serve_all()
            if not any(row.unfinished for row in self.book.rows.values()):
                break
            self.world.set_clock(self.world.offset + timedelta(hours=4))
        left = [row for row in self.book.rows.values() if row.state in UNFINISHED]
        assert not left, "jobs that nobody can end"
        assert not self.wishes.waiting, "a request that nobody served"

    def _serve_all(self) -> None:
        for row in self.book.in_order():
            if row.state == PARKED:
                self.play(Saying("release", row.id))
        self.play(Claim(SEEN, {"default": 99, "mail": 99}, 99, tuple(EVERY)).deed(self.book, 0))
        while self.play(ClaimSuspect(SOLO, tuple(EVERY))) is not None:
            pass
        self.play(Settle((DONE,) * len(self.book.live), stale=False).deed(self.book, 0))


def _lost(inside: Book, after: Book) -> list[Any]:
    """Claims that were rolled back."""
    return [
        each
        for each in inside.live.values()
        if after.live.get(each.id) != each and (each.id, each.fence) not in after.past
    ]
