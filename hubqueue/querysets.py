"""Names for what people and code ask of the rows. They read; nothing here moves a job."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import connections, models
from django.db.models import Func, Q

from hubqueue.states import FINISHED, UNFINISHED, State

if TYPE_CHECKING:
    from hubqueue.models import Failure, Job, Pause, Worker


class Now(Func):
    """The database's clock as the queue reads it: ``hubqueue_now()``, stable within a statement."""

    function = "hubqueue_now"
    arity = 0
    output_field: models.Field[Any, Any] = models.DateTimeField()


class JobQuerySet(models.QuerySet["Job"]):
    def ready(self) -> "JobQuerySet":
        return self.filter(state=State.READY)

    def due(self) -> "JobQuerySet":
        """READY and its moment has come."""
        return self.ready().filter(run_at__lte=Now())

    def scheduled(self) -> "JobQuerySet":
        return self.ready().filter(run_at__gt=Now())

    def waiting_for_retry(self) -> "JobQuerySet":
        return self.ready().filter(attempts__gt=0, run_at__gt=Now())

    def running(self) -> "JobQuerySet":
        return self.filter(state=State.RUNNING)

    def unfinished(self) -> "JobQuerySet":
        return self.filter(state__in=sorted(UNFINISHED))

    def finished(self) -> "JobQuerySet":
        return self.filter(state__in=sorted(FINISHED))

    def dead(self) -> "JobQuerySet":
        return self.filter(state=State.DEAD)

    def unfinished_with_key(self, kind: str, dedupe_key: str) -> "JobQuerySet":
        return self.unfinished().filter(kind=kind, dedupe_key=dedupe_key)


class WorkerQuerySet(models.QuerySet["Worker"]):
    def alive(self) -> "WorkerQuerySet":
        """Workers whose lease has not passed."""
        return self.filter(lease_until__gt=Now())


class FailureQuerySet(models.QuerySet["Failure"]):
    def newest_first(self) -> "FailureQuerySet":
        return self.order_by("-id")


class PauseQuerySet(models.QuerySet["Pause"]):
    def in_force(self) -> "PauseQuerySet":
        """Pauses without an end, or whose end has not come."""
        return self.filter(Q(until__isnull=True) | Q(until__gt=Now()))


def database_now(using: str) -> datetime:
    """The database's clock as an aware datetime, read over the connection ``using``."""
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT hubqueue_now()")
        (moment,) = cursor.fetchone()
    assert isinstance(moment, datetime)
    return moment
