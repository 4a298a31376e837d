"""The life of jobs as a state machine: steps by chance, each compared with the book, all laws after each."""

from datetime import timedelta
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from hubqueue import officers
from hubqueue.lifecycle.guard import Claimed
from tests.model import laws
from tests.model.claims import EVERY, QUEUES, Claim, ClaimSuspect, claims
from tests.model.deed import Recipe
from tests.model.endings import (
    DEAD_END,
    DONE,
    ENDING,
    SETTLE,
    SETTLE_PAST,
    SETTLE_SOME,
    TOUCH,
    Ending,
    Settle,
    Settling,
)
from tests.model.gone import ATTEND, CREW, HIDDEN, REAP, SEEN, SILENT, SOLO, Attend
from tests.model.requests import (
    ALIKE,
    CROWD,
    ENQUEUE,
    ENQUEUE_MANY,
    WAKE,
    Ask,
    Enqueue,
    Enqueueing,
    crowd,
    sleepers,
)
from tests.model.row import DEAD, FINISHED, PARKED, READY, UNFINISHED
from tests.model.runs import RUN, RUN_TOGETHER
from tests.model.stage import Stage
from tests.model.verbs import REDRIVE_MANY, SHUT, STOP, VERB, WHY, Purge, Saying, Verb

PICK = st.integers(0, 5)
CLAIM = claims([SEEN, HIDDEN, SILENT])
ASK = st.one_of(ENQUEUE, ENQUEUE, ENQUEUE_MANY)
END = st.one_of(SETTLE, SETTLE, SETTLE, SETTLE_SOME, SETTLE_PAST, TOUCH)
OFFICER = VERB
MORTAL = Ask("model.plain", key="k", tenant=None, priority=0, minutes=0, n=0)
MINUTES = st.sampled_from([10, 10, 60, 180, -10])
FIRST = st.one_of(ASK, WAKE, CLAIM, SETTLE, SETTLE_SOME, VERB, STOP, SHUT, TOUCH)
SECOND = st.one_of(
    ASK, WAKE, CLAIM, CLAIM, END, VERB, STOP, SHUT, REDRIVE_MANY, REAP, st.just(Purge())
)


class Lifecycle(Stage):
    """Every rule is a step of somebody: who asks, workers, officers, time."""

    @initialize(first=st.lists(ENQUEUE_MANY, max_size=2), one_key=st.booleans())
    def begin(self, first: list[Enqueue], one_key: bool) -> None:
        """With ``one_key`` the story is about the jobs of one key: what is rare elsewhere happens to them often."""
        self.one_key = one_key
        for worker in CREW:
            self.play(Attend("register", worker))
        for each in first:
            self.ask(each, 0)

    @rule(what=ASK, pick=PICK)
    def ask(self, what: Enqueue, pick: int) -> None:
        self.play((what.of_one_key() if self.one_key else what).deed(self.book, pick))

    @precondition(lambda self: not self.one_key)
    @rule(what=CROWD)
    def crowd(self, what: Enqueue) -> None:
        self.play(what.deed(self.book, 0))

    @rule(what=CLAIM)
    def claim(self, what: Claim) -> None:
        if self.one_key:
            what = Claim(what.worker, {"default": 6}, 6, tuple(EVERY), lost=what.lost)
        self.play(what.deed(self.book, 0, None if what.lost else self.seats[what.worker]))

    @rule(what=CLAIM)
    def claim_again(self, what: Claim) -> None:
        self.claim(what)

    @precondition(lambda self: self.may_be_alone())
    @rule()
    def claim_suspect(self) -> None:
        self.play(ClaimSuspect(SOLO, tuple(EVERY)))

    def may_be_alone(self) -> bool:
        """Whether there is a suspect, and nothing that its worker runs."""
        waiting = any(row.suspect and row.state == READY for row in self.book.rows.values())
        return waiting and not self.book.held_by(SOLO)

    @precondition(lambda self: sleepers(self.book))
    @rule(what=WAKE, pick=PICK)
    def wake(self, what: Recipe, pick: int) -> None:
        self.play(what.deed(self.book, pick))

    @precondition(lambda self: self.book.live)
    @rule(what=STOP, pick=PICK)
    def stop(self, what: Recipe, pick: int) -> None:
        self.play(what.deed(self.book, pick))

    @rule(what=SHUT, pick=PICK)
    def shut(self, what: Recipe, pick: int) -> None:
        self.play(what.deed(self.book, pick))

    @precondition(lambda self: self.book.live)
    @rule(what=SETTLE, pick=PICK)
    def settle(self, what: Recipe, pick: int) -> None:
        self.play(what.deed(self.book, pick))

    @precondition(lambda self: any(row.stop_requested for row in self.book.rows.values()))
    @rule(what=SETTLE)
    def settle_stopped(self, what: Recipe) -> None:
        self.play(what.deed(self.book, 0))

    @rule()
    def die(self) -> None:
        """A job of the key is asked for, claimed, and given up; the more often, the more dead letters it has."""
        self.play(Enqueueing(Enqueue((MORTAL,), bulk=False, rolled_back=False, alike=False)))
        self.play(Claim(SEEN, {"default": 12}, 12, tuple(EVERY)).deed(self.book, 0))
        for claimed in list(self.book.live.values()):
            if (claimed.kind, claimed.dedupe_key) == (MORTAL.kind, MORTAL.key):
                self.play(Settling([(claimed, DEAD_END)]))

    @precondition(lambda self: self.latecomers())
    @rule(pick=PICK, ending=ENDING)
    def come_late(self, pick: int, ending: Ending) -> None:
        late = self.latecomers()
        self.play(Settling([(late[pick % len(late)], ending)]))

    def latecomers(self) -> list[Claimed]:
        """Attempts whose job is run by another one now."""
        return [each for each in self.book.past.values() if each.id in self.book.live]

    @precondition(lambda self: self.book.past)
    @rule(what=END, pick=PICK)
    def end(self, what: Recipe, pick: int) -> None:
        self.play(what.deed(self.book, pick))

    @precondition(lambda self: self.book.live)
    @rule(what=st.one_of(RUN, RUN, RUN_TOGETHER), pick=PICK)
    def run(self, what: Recipe, pick: int) -> None:
        self.play(what.deed(self.book, pick))

    @rule(what=st.one_of(ATTEND, REAP))
    def attend(self, what: Recipe) -> None:
        self.play(what.deed(self.book, 0))

    @precondition(lambda self: self.book.live)
    @rule()
    def look(self) -> None:
        self.play(self.sweep)

    @precondition(lambda self: self.has(DEAD))
    @rule(name=st.sampled_from(["redrive", "redrive", "dismiss"]), pick=PICK)
    def raise_or_bury(self, name: str, pick: int) -> None:
        self.play(Verb(name, fitting=True).deed(self.book, pick))

    @precondition(lambda self: self.has(DEAD))
    @rule(what=REDRIVE_MANY)
    def redrive_many(self, what: Recipe) -> None:
        self.play(what.deed(self.book, 0))

    @precondition(lambda self: self.has(*FINISHED))
    @rule(minutes=st.sampled_from([40, 100]))
    def purge(self, minutes: int) -> None:
        self.pass_time(minutes, purge=True)

    def has(self, *states: str) -> bool:
        """Whether any job is in one of these states."""
        return any(row.state in states for row in self.book.rows.values())

    @rule(what=OFFICER, pick=PICK)
    def officer(self, what: Recipe, pick: int) -> None:
        self.play(what.deed(self.book, pick))

    @rule(minutes=MINUTES, purge=st.just(False))
    def pass_time(self, minutes: int, purge: bool) -> None:
        self.world.set_clock(max(timedelta(0), self.world.offset + timedelta(minutes=minutes)))
        if purge:
            self.play(Purge())

    @rule(first=FIRST, second=SECOND, pick=PICK, commit=st.booleans())
    def meet(self, first: Recipe, second: Recipe, pick: int, commit: bool) -> None:
        first, second = self._narrowed(first), self._narrowed(second)
        mine, theirs = first.deed(self.book, pick), second.deed(self.book, pick)
        if mine is not None and theirs is not None:
            self.duel(mine, theirs, commit=commit)

    @precondition(lambda self: self.has(READY))
    @rule(first=st.one_of(ALIKE, ALIKE, CLAIM, VERB), second=CLAIM, pick=PICK, commit=st.booleans())
    def claim_beside(self, first: Recipe, second: Recipe, pick: int, commit: bool) -> None:
        self.meet(first, second, pick, commit)

    @precondition(lambda self: not self.one_key)
    @rule(queue=st.sampled_from(QUEUES), urgent=st.booleans())
    def take_turns(self, queue: str, urgent: bool) -> None:
        """One job at a time: as many looks as there are tenants serve every one of them.

        With ``urgent`` one tenant has a more urgent job each time in between.
        """
        kind = "model.plain" if queue == "default" else "model.mail"
        self.crowd(crowd(kind, priority=0, each=2))
        claim = partial(self._take_one, urgent=urgent and not self.book.pauses)
        laws.check_turns(self.book, queue, self.world.now(), claim)

    def _narrowed(self, what: Recipe) -> Recipe:
        if self.one_key and isinstance(what, Enqueue):
            return what.of_one_key()
        if self.one_key and isinstance(what, Claim):
            return Claim(what.worker, {"default": 6}, 6, tuple(EVERY))
        return what

    def _take_one(self, queue: str, *, urgent: bool) -> Claimed:
        if urgent:
            kind = "model.plain" if queue == "default" else "model.mail"
            ask = Ask(kind, key=None, tenant="b", priority=-9, minutes=None, n=0)
            self.play(Enqueueing(Enqueue((ask,), bulk=False, rolled_back=False, alike=False)))
            assert self._take_one(queue, urgent=False).priority == -9
        what = Claim(HIDDEN, {queue: 1}, 1, tuple(EVERY))
        (claimed,) = self.play(what.deed(self.book, 0, self.seats[HIDDEN]))
        return claimed

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
