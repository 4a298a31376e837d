"""What all pages share: nothing is counted without a bound, and of most nothing can be edited."""

from typing import Any, TypeVar

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property
from django.utils.text import capfirst

MOST_COUNTED = 1000

M = TypeVar("M", bound=Model)


def on_a_list(action_location: Any) -> bool:
    """Whether actions are asked for a list. Django 6.1 asks for the page of one row as well."""
    return getattr(action_location, "value", "CHANGE_LIST") == "CHANGE_LIST"


def bounded_count(rows: "QuerySet[Any]") -> int:
    """How many rows there are; ``MOST_COUNTED + 1`` when there are more. Reads no more than that many."""
    return rows.values("pk")[: MOST_COUNTED + 1].count()


class BoundedPaginator(Paginator[M]):
    """Pages over the first thousand rows. Who looks for older ones narrows the list by search or filter."""

    @cached_property
    def count(self) -> int:
        return min(bounded_count(self.object_list), MOST_COUNTED)  # type: ignore[arg-type]


class BoundedAdmin(admin.ModelAdmin[M]):
    """Lists without a full count."""

    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 100
    list_max_show_all = 0

    class Media:
        css = {"all": ["hubqueue/admin.css"]}

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list, under the name of what it lists."""
        title = capfirst(str(self.opts.verbose_name_plural))
        return super().changelist_view(request, {"title": title, **(extra_context or {})})


class LookOnlyAdmin(BoundedAdmin[M]):
    """Rows to look at. No form adds, changes or deletes any."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False


class GoesAlongAdmin(LookOnlyAdmin[M]):
    """Rows to look at that belong to another row: they go when that is deleted on its own page, not before."""

    def has_delete_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        place = request.resolver_match
        own = f"{self.opts.app_label}_{self.opts.model_name}_"
        if place is None or (place.url_name or "").startswith(own):
            return False
        return bool(request.user.has_perm(f"{self.opts.app_label}.delete_{self.opts.model_name}"))


class ReadOnlyAdmin(LookOnlyAdmin[M]):
    """The same for the queue's own rows, under the permission to view them, and without a lookup by hand."""

    actions = None

    def has_view_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return request.user.has_perm(f"hubqueue.view_{self.opts.model_name}")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """No lookups by hand in the address: ``?payload__x__startswith=`` would be a way to guess a payload."""
        return False
