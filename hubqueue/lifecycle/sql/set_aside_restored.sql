-- In the transaction that fills a database from a copy of another one, run by psql: no parameters.
UPDATE hubqueue_job
SET state = 'PARKED', park_reason = 'restored', claimed_by = NULL, stop_requested = NULL, fence = fence + 1
WHERE state IN ('READY', 'RUNNING');
INSERT INTO hubqueue_operation (verb, target, actor, reason, at)
VALUES ('park', 'every unfinished job', 'restore', 'restored', hubqueue_now());
DELETE FROM hubqueue_worker;
DELETE FROM hubqueue_leader;
