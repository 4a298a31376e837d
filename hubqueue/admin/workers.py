"""Workers: whose lease holds what, and whether they are alive."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from hubqueue.admin import cells
from hubqueue.admin.readonly import ReadOnlyAdmin
from hubqueue.lifecycle.database import alias
from hubqueue.models import Job, Worker

MOST_SHOWN = 100


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin[Worker]):
    list_display = ["name_", "state_", "lease_", "queues_", "running_", "started_"]
    fields = [
        "id",
        "host",
        "pid",
        "state_",
        "lease_",
        "started_",
        "queues_",
        "kinds_",
        "solo",
        "runs_",
    ]
    readonly_fields = ["state_", "lease_", "started_", "queues_", "kinds_", "runs_"]
    ordering = ["host", "pid"]
    sortable_by = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Worker]:
        running = (
            Job.objects.running()
            .filter(claimed_by=OuterRef("pk"))
            .order_by()
            .values("claimed_by")
            .annotate(number=Count("pk"))
            .values("number")
        )
        return Worker.objects.using(alias()).annotate(
            running=Coalesce(Subquery(running, output_field=IntegerField()), 0)
        )

    @admin.display(description="worker")
    def name_(self, worker: Worker) -> str:
        return f"{worker} (alone)" if worker.solo else str(worker)

    @admin.display(description="state")
    def state_(self, worker: Worker) -> SafeString:
        if worker.lease_until > timezone.now():
            return cells.tag("alive", "succeeded")
        return cells.tag("lease passed", "dead")

    @admin.display(description="lease until")
    def lease_(self, worker: Worker) -> SafeString | str:
        return cells.when(worker.lease_until, timezone.now())

    @admin.display(description="started")
    def started_(self, worker: Worker) -> SafeString | str:
        return cells.when(worker.started_at, timezone.now())

    @admin.display(description="queues")
    def queues_(self, worker: Worker) -> str:
        return ", ".join(worker.queues) or cells.NOTHING

    @admin.display(description="kinds it knows")
    def kinds_(self, worker: Worker) -> str:
        return ", ".join(worker.kinds) or cells.NOTHING

    @admin.display(description="running")
    def running_(self, worker: Any) -> int:
        number: int = worker.running
        return number

    @admin.display(description="runs now")
    def runs_(self, worker: Worker) -> SafeString | str:
        held = Job.objects.using(alias()).running().filter(claimed_by=worker.pk).only("kind")
        return (
            format_html_join(
                "",
                "<div>{}</div>",
                ((cells.job_link(job.pk, str(job)),) for job in held[:MOST_SHOWN]),
            )
            or "nothing"
        )
