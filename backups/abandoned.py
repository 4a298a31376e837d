"""How the job of a run or a restore ended when it was given up."""

from hubqueue.api import JobContext
from hubqueue.models import Job
from hubqueue.states import State


def death_of(job: JobContext) -> str | None:
    """The code of its dead letter, '' without one; None when it was cancelled. In the transaction of that end."""
    jobs = Job.objects.using(job.using)
    state, code = jobs.values_list("state", "error_code").get(pk=job.id)
    return None if state == State.CANCELLED else code or ""
