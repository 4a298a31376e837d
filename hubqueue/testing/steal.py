"""Take a running job away from its attempt."""

from uuid import UUID

from hubqueue.ids import uuid7
from hubqueue.lifecycle.context import JobContext
from hubqueue.lifecycle.database import connection
from hubqueue.models import Job


def steal_lease(job: JobContext | Job | UUID) -> None:
    """Make another attempt own a running job, as after a rescue and a new claim.

    The attempt that runs must get ``LeaseLost`` at its next write and leave nothing. Call it in the handler
    or from another connection. Raises ``AssertionError`` when the job does not run.
    """
    job_id = job if isinstance(job, UUID) else job.id
    with connection().cursor() as cursor:
        cursor.execute(
            "UPDATE hubqueue_job SET fence = greatest(fence + 1, hubqueue_fence()), claimed_by = %s,"
            " claimed_at = hubqueue_now(), attempts = attempts + 1"
            " WHERE id = %s AND state = 'RUNNING'",
            [uuid7(), job_id],
        )
        changed = cursor.rowcount
    assert changed == 1, f"the job {job_id} does not run, so it has no lease to steal"
