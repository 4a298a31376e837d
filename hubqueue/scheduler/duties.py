"""What every leader does beside the duties that applications registered."""

from datetime import UTC, datetime, timedelta

from hubqueue.conf import conf
from hubqueue.lifecycle.purge import Walk, purge_failures, purge_jobs, purge_ticks, purge_workers
from hubqueue.registry import Cadence, Duty, Registry
from hubqueue.scheduler.periodic import decide
from hubqueue.scheduler.pollers import reseed

PURGE_WITHIN = timedelta(seconds=1)
KEEP_WORKERS = timedelta(days=1)
LOOK_AGAIN = timedelta(minutes=1)


class BuiltIn:
    """The duties of the queue itself, in the order in which a tick does them. One per process.

    ``now`` is the moment of the tick on the database's clock, for whoever ticks to set.
    """

    def __init__(self, known: Registry, *, using: str) -> None:
        self._known = known
        self._using = using
        self._walk = Walk()
        self._walked_at: datetime | None = None
        self._decided: dict[str, datetime] = {}
        self.now = datetime.min.replace(tzinfo=UTC)

    def duties(self) -> list[Duty]:
        """Periodic jobs and pollers at each tick, then the purge, which never takes long."""
        deadline = conf().statement_deadline
        return [
            Duty("hubqueue.periodic", self.periodic, Cadence.TICK, deadline),
            Duty("hubqueue.pollers", self.pollers, Cadence.TICK, deadline),
            Duty("hubqueue.purge_jobs", self.purge_jobs, Cadence.TICK, deadline),
            Duty("hubqueue.purge_failures", self.purge_failures, Cadence.MINUTE, deadline),
            Duty("hubqueue.purge_ticks", self.purge_ticks, Cadence.HOUR, deadline),
            Duty("hubqueue.purge_workers", self.purge_workers, Cadence.HOUR, deadline),
        ]

    def periodic(self) -> None:
        """Enqueue the periodic jobs that are due."""
        schedules = self._known.schedules.values()
        decide(schedules, self.now, using=self._using, decided=self._decided)

    def pollers(self) -> None:
        """Enqueue the pollers that died."""
        reseed(self._known.pollers.values(), using=self._using)

    def purge_jobs(self) -> None:
        """Remove jobs that have been finished for long enough: without a pause while there are some, else now and
        then."""
        walked = self._walked_at
        if self._walk.at_end and walked is not None and abs(self.now - walked) < LOOK_AGAIN:
            return
        self._walked_at = self.now
        purge_jobs(
            self._walk,
            now=self.now,
            keep_finished=conf().keep_finished,
            keep_dead=conf().keep_dead,
            within=PURGE_WITHIN,
            using=self._using,
        )

    def purge_failures(self) -> None:
        """Remove the old history of attempts."""
        before = self.now - conf().keep_failures
        purge_failures(before=before, within=PURGE_WITHIN, using=self._using)

    def purge_ticks(self) -> None:
        """Remove old records of periodic ticks."""
        before = self.now - conf().keep_finished
        purge_ticks(before=before, within=PURGE_WITHIN, using=self._using)

    def purge_workers(self) -> None:
        """Remove the rows of workers that are long gone."""
        before = self.now - KEEP_WORKERS
        purge_workers(before=before, within=PURGE_WITHIN, using=self._using)
