"""Where a story is played: each step is done, compared with the book, and followed by all laws."""

from typing import Any, ClassVar

from hypothesis.stateful import RuleBasedStateMachine

from hubqueue.lifecycle.claim import Lane
from tests.model import laws
from tests.model.book import Book
from tests.model.claims import QUEUES, Seat
from tests.model.deed import Deed
from tests.model.gone import CREW, Look
from tests.model.kinds import let_go
from tests.model.moments import Span
from tests.model.wishes import Wishes
from tests.model.world import World


class Stage(RuleBasedStateMachine):
    """One story over the real thing, and what the contract says of it so far."""

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
        self.one_key = False

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


def _lost(inside: Book, after: Book) -> list[Any]:
    """Claims that were rolled back."""
    return [
        each
        for each in inside.live.values()
        if after.live.get(each.id) != each and (each.id, each.fence) not in after.past
    ]
