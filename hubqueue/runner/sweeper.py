"""What the supervisor does about the dead: reap its own children's jobs, and rescue those of workers gone."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from queue import Empty, SimpleQueue
from uuid import UUID

from django.db.models import Case, When

from hubqueue.conf import conf
from hubqueue.lifecycle.rescue import Sweep, rescue
from hubqueue.lifecycle.workers import held_by, remove
from hubqueue.models import Job
from hubqueue.querysets import Now
from hubqueue.registry import registry

SLACK = timedelta(seconds=2)
MOST_SUSPECTS = 100
LOOK_FOR_SUSPECTS = 3  # at each third sweep, while none were seen and nothing was taken back


@dataclass(frozen=True, slots=True)
class Death:
    """A child that ended. ``in_flight`` = what may have killed it; empty when we know that nothing did."""

    worker: UUID
    in_flight: frozenset[UUID]
    timed_out: frozenset[UUID]
    alone: bool


class Sweeper:
    """One sweep per call, over the connection of the thread that calls it.

    ``steady()`` is for how many seconds our own renewals have gone through. While they do not, because a table is
    locked or a primary waits for its standby, nobody else's do either: who looks gone is not.
    """

    def __init__(
        self, queues: Collection[str], *, using: str, steady: Callable[[], float] = lambda: inf
    ) -> None:
        self._queues = list(queues)
        self._using = using
        self._deaths: SimpleQueue[Death] = SimpleQueue()
        self._sweep = Sweep(
            using,
            apart=conf().rescue_every,
            calm=conf().renew_every,
            find_work=registry.find,
            # Longer than a living supervisor can go without renewing: its rounds are jittered by a tenth.
            quiet=conf().renew_every * 1.1 + SLACK,
            may_take=lambda: steady() > conf().renew_every.total_seconds(),
        )
        self.suspects_due = 0
        self._suspects = 0
        self._sweeps = 0
        self.idle = False
        self.unreaped = 0

    def report(self, death: Death) -> None:
        """Called by the supervisor when a child ended."""
        self.unreaped += 1
        self._deaths.put(death)

    def sweep(self) -> None:
        """Reap, rescue, and see whether suspects wait."""
        reaped = self._reap()
        rescued = self._sweep.once()
        self._sweeps += 1
        # Those that other supervisors made have solos of theirs as well.
        if reaped or rescued or self._suspects or self._sweeps % LOOK_FOR_SUSPECTS == 1:
            self._look_for_suspects()

    def _look_for_suspects(self) -> None:
        suspects = (
            Job.objects.using(self._using)
            .ready()
            .filter(suspect=True, queue__in=self._queues, kind__in=registry.kinds())
            .order_by("run_at")
            .values_list(Case(When(run_at__lte=Now(), then=True), default=False), flat=True)
        )
        found = list(suspects[:MOST_SUSPECTS])
        self._suspects = len(found)
        self.suspects_due = sum(found)

    def look_idle(self) -> None:
        """Set ``idle`` when nothing of our kinds and queues is due or running."""
        ours = Job.objects.using(self._using).filter(
            queue__in=self._queues, kind__in=registry.kinds()
        )
        due = ours.ready().filter(run_at__lte=Now())
        # In one statement: what is claimed between two would be seen by neither.
        self.idle = not ours.running().union(due, all=True).exists() and not self.unreaped

    def _reap(self) -> int:
        """Bury the dead and count them. Those whose rows are locked still, by what their sessions left, are seen to
        next time."""
        waiting = []
        seen = 0
        try:
            while True:
                waiting.append(self._deaths.get_nowait())
                seen += 1
                if self._bury(waiting[-1]):
                    waiting.pop()
                    self.unreaped -= 1
        except Empty:
            pass
        finally:
            for death in waiting:
                self._deaths.put(death)
        return seen

    def _bury(self, death: Death) -> bool:
        """Take back all that a dead child held. False when something could not be taken yet."""
        rescue(
            death.worker,
            cause="timeout" if death.timed_out else "death",
            alone=death.alone,
            using=self._using,
            in_flight=death.in_flight,
            timed_out=death.timed_out,
            find_work=registry.find,
        )
        if held_by([death.worker], using=self._using):
            return False
        remove(death.worker, using=self._using)
        return True
