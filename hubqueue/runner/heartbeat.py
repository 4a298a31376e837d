"""Renew the leases of all children, carry their progress, and bring back stop requests and lost fences."""

from datetime import timedelta
from uuid import UUID

from hubqueue.conf import Conf, conf
from hubqueue.lifecycle.workers import Held, held_by, renew, store_progress
from hubqueue.runner.board import InFlight
from hubqueue.runner.crew import Child, Crew


def patience(conf: Conf) -> timedelta:
    """How long one statement of a round may wait: two that wait in vain, one after the other, cost no lease."""
    return (conf.lease - conf.renew_every) / 3


class Heartbeat:
    """One renewal round per call, over the connection of the thread that calls it."""

    def __init__(self, crew: Crew, *, using: str) -> None:
        self._crew = crew
        self._using = using
        self._strays: set[tuple[UUID, int]] = set()

    def beat(self) -> None:
        """The lease first: nothing else in the round may delay it."""
        workers = self._crew.workers()
        if not workers:
            return
        renewed = renew(workers, lease=conf().lease, using=self._using)
        # A child that registered meanwhile is the next round's: we do not ask what it holds.
        with self._crew.lock:
            children = [child for child in self._crew.children if child.worker in workers]
        for child in children:
            if child.worker not in renewed:
                child.wire.send({"register": True})
        shares = self._crew.take_shares()
        written = store_progress(shares, using=self._using)
        started = {child.worker: child.in_flight for child in children}
        self._crew.give_back([each for each in shares if each[0] not in written], started.values())
        rows = {row.id: row for row in held_by(workers, using=self._using)}
        for child in children:
            self._tell(child, started[child.worker], rows)
        self._look_for_strays(children, started, rows)

    def _tell(self, child: Child, started: dict[UUID, InFlight], rows: dict[UUID, Held]) -> None:
        for job_id, running in started.items():
            row = rows.get(job_id)
            if row is None or row.fence != running.fence or row.worker != child.worker:
                child.wire.send({"lost": [str(job_id), running.fence]})
            elif row.stop and (told := (job_id, row.fence, row.stop)) not in child.stops_told:
                child.stops_told.add(told)
                child.wire.send({"stop": [str(job_id), row.fence, row.stop]})

    def _look_for_strays(
        self,
        children: list[Child],
        started: dict[UUID, dict[UUID, InFlight]],
        rows: dict[UUID, Held],
    ) -> None:
        """What a child holds and has not begun from one round to the next, it may not know of: a claim whose
        connection broke can reach the server long after the child has connected again and asked what it holds."""
        begun = {(job_id, each.fence) for jobs in started.values() for job_id, each in jobs.items()}
        strays = {(row.id, row.fence): row.worker for row in rows.values()}
        again = {strays[key] for key in self._strays & strays.keys() - begun}
        self._strays = strays.keys() - begun
        for child in children:
            if child.worker in again:
                child.wire.send({"recall": True})
