"""Moves tell, others listen. Every signal is sent after the commit that made it true.

Receivers get plain values (no payload, no message): job_id (a UUID), kind, queue, state, code, seconds, count.
"""

from django.dispatch import Signal

job_enqueued = Signal()  # kind, queue, outcome, count (requests of one call with this outcome)
job_claimed = Signal()  # kind, queue, tenant, waited (seconds between due and claim)
job_settled = Signal()  # job_id, kind, queue, state, outcome, code, seconds, attempt
job_rescued = Signal()  # job_id, kind, queue, cause, spent
lease_lost = Signal()  # kind
verb_done = Signal()  # verb, target, actor
worker_changed = Signal()  # worker, event (started, ended, killed, recycled)
scheduler_ticked = Signal()  # lag (seconds), leading
duty_ended = Signal()  # duty, code ("" = well), seconds
poller_reseeded = Signal()  # kind, queue
tick_fired = Signal()  # schedule, kind, queue, late (seconds)
