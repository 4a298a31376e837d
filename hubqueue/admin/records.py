"""What the scheduler and the officers left behind: leader, duties, periodic ticks, the log of verbs."""

from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from hubqueue.admin import cells
from hubqueue.admin.readonly import ReadOnlyAdmin
from hubqueue.models import Duty, Leader, Operation, PeriodicTick


@admin.register(Leader)
class LeaderAdmin(ReadOnlyAdmin[Leader]):
    list_display = ["host", "pid", "since_", "ticked_"]
    sortable_by = ()

    @admin.display(description="leads since")
    def since_(self, leader: Leader) -> SafeString | str:
        return cells.when(leader.since, timezone.now())

    @admin.display(description="last tick")
    def ticked_(self, leader: Leader) -> SafeString | str:
        return cells.when(leader.ticked_at, timezone.now())


@admin.register(Duty)
class DutyAdmin(ReadOnlyAdmin[Duty]):
    list_display = ["name", "state_", "ran_", "succeeded_", "error_code"]
    ordering = ["name"]
    sortable_by = ()

    @admin.display(description="state")
    def state_(self, duty: Duty) -> SafeString:
        return cells.tag("failing", "dead") if duty.error_code else cells.tag("well", "succeeded")

    @admin.display(description="last ran")
    def ran_(self, duty: Duty) -> SafeString | str:
        return cells.when(duty.ran_at, timezone.now())

    @admin.display(description="last succeeded")
    def succeeded_(self, duty: Duty) -> SafeString | str:
        return cells.when(duty.succeeded_at, timezone.now())


@admin.register(PeriodicTick)
class PeriodicTickAdmin(ReadOnlyAdmin[PeriodicTick]):
    list_display = ["schedule", "at_", "job_"]
    ordering = ["-id"]
    sortable_by = ()

    @admin.display(description="tick")
    def at_(self, tick: PeriodicTick) -> SafeString | str:
        return cells.when(tick.at, timezone.now())

    @admin.display(description="job")
    def job_(self, tick: PeriodicTick) -> SafeString | str:
        return cells.job_link(tick.job_id) if tick.job_id else "none"


@admin.register(Operation)
class OperationAdmin(ReadOnlyAdmin[Operation]):
    list_display = ["at_", "actor", "verb", "target_", "reason"]
    list_display_links = None
    search_fields = ["job_id"]
    search_help_text = "The id of a job, whole."
    ordering = ["-id"]
    sortable_by = ()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Operation], search_term: str
    ) -> tuple[QuerySet[Operation], bool]:
        if not search_term.strip():
            return queryset, False
        try:
            return queryset.filter(job_id=UUID(search_term.strip())), False
        except ValueError:
            return queryset.none(), False

    @admin.display(description="when")
    def at_(self, operation: Operation) -> SafeString | str:
        return cells.when(operation.at, timezone.now())

    @admin.display(description="on")
    def target_(self, operation: Operation) -> SafeString | str:
        return cells.job_link(operation.job_id) if operation.job_id else operation.target
