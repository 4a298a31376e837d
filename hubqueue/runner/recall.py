"""Hand back what a claim gave us and its answer never told us: the connection broke in between."""

from collections.abc import Callable, Collection
from uuid import UUID

from hubqueue.lifecycle import settle as verdicts
from hubqueue.lifecycle.guard import claimed_from
from hubqueue.lifecycle.orphans import end_orphans
from hubqueue.lifecycle.owed import Owed, pay
from hubqueue.models import Job
from hubqueue.states import State


def recall(worker: UUID, known: Callable[[], Collection[UUID]], *, using: str) -> list[Owed]:
    """Hand back, unspent, every job that ``worker`` holds and does not know of. Answers what is owed still."""
    end_orphans(using)  # else what a lost session is about to claim comes after the question
    held = Job.objects.using(using).filter(state=State.RUNNING, claimed_by=worker)
    # Asked before and after the rows are read: what ends in between is known of before, or owed after.
    mine = set(known())
    rows = list(held)
    mine.update(known())
    strays = [job for job in rows if job.pk not in mine]
    outcomes = [pay(Owed(claimed_from(job), verdicts.hand_back(), using)) for job in strays]
    return [each for each in outcomes if isinstance(each, Owed)]
