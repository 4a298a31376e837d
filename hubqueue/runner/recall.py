"""Hand back what a claim gave us and its answer never told us: the connection broke in between."""

from collections.abc import Collection
from uuid import UUID

from hubqueue.lifecycle import settle as verdicts
from hubqueue.lifecycle.guard import claimed_from
from hubqueue.lifecycle.owed import Owed, pay
from hubqueue.models import Job
from hubqueue.states import State


def recall(worker: UUID, known: Collection[UUID], *, using: str) -> list[Owed]:
    """Hand back, unspent, every job that ``worker`` holds and that is not ``known`` to run. Answers what is owed."""
    held = Job.objects.using(using).filter(state=State.RUNNING, claimed_by=worker)
    strays = [job for job in held if job.pk not in known]
    outcomes = [pay(Owed(claimed_from(job), verdicts.hand_back(), using)) for job in strays]
    return [each for each in outcomes if isinstance(each, Owed)]
