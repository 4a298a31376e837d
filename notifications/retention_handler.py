"""The job that forgets: finished records older than the retention, a batch at a time."""

from datetime import timedelta

from hubqueue.api import Done, JobContext, Repeat, Result, handler, periodic
from hubqueue.querysets import Now
from notifications.conf import conf
from notifications.models import Notification

BATCH = 2000


@periodic(cron="23 3 * * *")
@handler("notifications.retention")
def forget(job: JobContext) -> Result:
    """Delete up to ``BATCH`` of the oldest records that are over and past the retention.

    A pending or uncertain one stays, however old: somebody is still to send it or to decide.
    """
    past = Notification.objects.finished().filter(finished_at__lt=Now() - conf().retention)
    oldest = past.order_by("finished_at").values("pk")[:BATCH]
    # Asked once more of each row: an officer may be sending one again at this moment.
    deleted, _ = past.filter(pk__in=list(oldest.values_list("pk", flat=True))).delete()
    return Done() if deleted < BATCH else Repeat(after=timedelta(0))
