"""Filters whose choices are fixed or typed in: no DISTINCT over the table, no count."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from hubqueue.conf import conf
from hubqueue.models import Job
from hubqueue.querysets import JobQuerySet
from hubqueue.registry import registry
from hubqueue.states import State

UNKNOWN = "(unknown)"


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"
    words = {
        "due": "Due",
        "scheduled": "Scheduled",
        "retry": "Waiting to retry",
        State.RUNNING.value: "Running",
        State.PARKED.value: "Parked",
        State.DEAD.value: "Dead letters",
        State.SUCCEEDED.value: "Succeeded",
        State.CANCELLED.value: "Cancelled",
    }

    def lookups(
        self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]
    ) -> Iterable[tuple[str, str]]:
        return list(self.words.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        assert isinstance(queryset, JobQuerySet)
        match self.value():
            case "due":
                return queryset.due()
            case "scheduled":
                return queryset.scheduled().filter(attempts=0)
            case "retry":
                return queryset.waiting_for_retry()
            case state if state in self.words:
                return queryset.filter(state=state)
        return queryset


class KindFilter(admin.SimpleListFilter):
    title = "kind"
    parameter_name = "kind"

    def lookups(
        self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]
    ) -> Iterable[tuple[str, str]]:
        return [*((kind, kind) for kind in sorted(registry.handlers)), (UNKNOWN, "unknown kinds")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        kind = self.value()
        if kind == UNKNOWN:
            return queryset.exclude(kind__in=registry.kinds())
        if kind in registry.handlers:
            return queryset.filter(kind__in=[kind, *registry.handlers[kind].aliases])
        return queryset


class QueueFilter(admin.SimpleListFilter):
    title = "queue"
    parameter_name = "queue"

    def lookups(
        self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]
    ) -> Iterable[tuple[str, str]]:
        return [(queue, queue) for queue in conf().queues]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        return queryset.filter(queue=self.value()) if self.value() else queryset


class TextFilter(admin.ListFilter):
    """Exactly what was typed in, NUL excepted."""

    template = "admin/hubqueue/text_filter.html"
    parameter_name: str
    column: str
    longest: int

    def __init__(
        self,
        request: HttpRequest,
        params: dict[str, list[str]],
        model: type[Job],
        model_admin: admin.ModelAdmin[Any],
    ) -> None:
        super().__init__(request, params, model, model_admin)
        self.text = params.pop(self.parameter_name, [""])[-1].strip()
        self.used_parameters = {self.parameter_name: self.text} if self.text else {}

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter_name]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Job]) -> QuerySet[Job]:
        if not self.text:
            return queryset
        if "\x00" in self.text or len(self.text) > self.longest:
            return queryset.none()
        return queryset.filter(**{self.column: self.text})

    def choices(self, changelist: Any) -> Iterator[dict[str, Any]]:
        """One item: the others parameters that the form has to carry along, and the way to remove this one."""
        yield {
            "name": self.parameter_name,
            "text": self.text,
            "longest": self.longest,
            "others": [
                (key, value)
                for key, values in changelist.filter_params.items()
                if key not in {self.parameter_name, "before"}
                for value in values
            ],
            "remove": changelist.get_query_string(remove=[self.parameter_name, "before"]),
        }


class TenantFilter(TextFilter):
    title = "tenant"
    parameter_name = "tenant"
    column = "tenant_id"
    longest = 64


class CodeFilter(TextFilter):
    title = "failure code"
    parameter_name = "code"
    column = "error_code"
    longest = 64
