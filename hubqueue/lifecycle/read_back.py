"""Read an outcome back from the row, by its fence, when the answer to a COMMIT was lost. Never guessed."""

from hubqueue.lifecycle.guard import Claimed
from hubqueue.lifecycle.settle import Settled
from hubqueue.models import Job
from hubqueue.querysets import Now
from hubqueue.states import State


def read_back(claimed: Claimed, *, using: str) -> Settled | None:
    """Where our commit left the job; None when somebody has claimed it since, so that it is not ours to tell."""
    row = (
        Job.objects.using(using)
        .filter(pk=claimed.id, fence=claimed.fence)
        .exclude(state=State.RUNNING)
        .annotate(present=Now())
        .values_list("state", "attempts", "run_at", "present")
        .first()
    )
    if row is None:
        return None
    state, attempts, run_at, now = row
    return Settled(claimed.id, State(state), attempts, run_at, successor=False, settled_at=now)
