DELETE FROM hubqueue_worker WHERE id IN (
    SELECT worker.id FROM hubqueue_worker AS worker
    WHERE worker.lease_until < %(before)s AND NOT EXISTS (
        SELECT FROM hubqueue_job AS job WHERE job.state = 'RUNNING' AND job.claimed_by = worker.id
    )
    LIMIT %(batch)s FOR UPDATE OF worker SKIP LOCKED
)
