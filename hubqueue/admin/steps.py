"""Lists that go on from an id: no page costs more than the first, however long the table."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models.expressions import Combinable
from django.http import HttpRequest
from django.utils import timezone

from hubqueue.admin.readonly import MOST_COUNTED

BEFORE = "before"


class StepChangeList(ChangeList):
    """Rows newest first. ``get_results`` reads a page of them and says ``show``.

    ``before`` is the id that the page starts below, None on the first.
    """

    before: UUID | None = None

    def get_filters_params(self, params: Any = None) -> dict[str, Any]:
        """Take the place in the list out of the parameters, so that choosing a filter starts at the top."""
        place = self.params.pop(BEFORE, None)
        self.filter_params.pop(BEFORE, None)
        if place is not None:
            self.before = as_uuid(place)
        return super().get_filters_params(params)

    def get_ordering(self, request: HttpRequest, queryset: Any) -> list[str | Combinable]:
        return ["-id"]

    def show(
        self,
        rows: Sequence[Any],
        *,
        count: int | None,
        older: UUID | None,
        looked_back_to: datetime | None,
    ) -> None:
        """These rows. ``count`` is up to 1,001, None past the first page; ``older`` is where the next page starts,
        None at the end; ``looked_back_to`` is set when the rows ended because the look back did."""
        self.now = timezone.now()
        self.result_list = rows
        self.older = older
        self.looked_back_to = looked_back_to
        self.count_is_known = count is not None
        self.result_count = len(rows) if count is None else count
        self.counted_too_many = self.result_count > MOST_COUNTED
        self.most_counted = MOST_COUNTED
        self.full_result_count = None
        self.show_full_result_count = False
        self.show_admin_actions = True
        self.can_show_all = False
        self.multi_page = False
        self.paginator = Paginator(rows, self.list_per_page)

    @property
    def older_query(self) -> str:
        return self.get_query_string({BEFORE: str(self.older)})

    @property
    def newest_query(self) -> str:
        return self.get_query_string(remove=[BEFORE])


def as_uuid(text: str | None) -> UUID | None:
    try:
        return UUID(text.strip()) if text else None
    except ValueError:
        return None
