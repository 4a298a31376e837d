"""The list of jobs: pages by id, never by number, and no full count."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models.expressions import Combinable
from django.http import HttpRequest
from django.utils import timezone

from hubqueue.admin import window
from hubqueue.admin.readonly import MOST_COUNTED
from hubqueue.querysets import JobQuerySet
from hubqueue.states import State

BEFORE = "before"
STEP = 500
# The states whose every row an action may take at once: an index walks them newest first.
WALKABLE = frozenset({State.DEAD, State.PARKED})
READY_CHOICES = {"due", "scheduled", "retry"}


class JobChangeList(ChangeList):
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

    def get_results(self, request: HttpRequest) -> None:
        page = window.look(self._asked(), self.list_per_page)
        self.now = timezone.now()
        self.result_list = page.rows
        self.older = page.older
        self.looked_back_to = page.looked_back_to
        self.count_is_known = page.count is not None
        self.result_count = len(page.rows) if page.count is None else page.count
        self.counted_too_many = self.result_count > MOST_COUNTED
        self.most_counted = MOST_COUNTED
        self.full_result_count = None
        self.show_full_result_count = False
        self.show_admin_actions = True
        self.can_show_all = False
        self.multi_page = False
        self.paginator = Paginator(page.rows, self.list_per_page)

    def _asked(self) -> window.Asked:
        assert isinstance(self.queryset, JobQuerySet)
        job_id = as_uuid(self.query)
        return window.Asked(
            queryset=self.queryset,
            state=chosen_state(self.params.get("state")),
            queue=self.params.get("queue"),
            filtered=any(
                self.params.get(key) for key in ("state", "kind", "queue", "tenant", "code", "q")
            ),
            job_id=job_id,
            dedupe_key=self.query if self.query and job_id is None else None,
            before=self.before,
        )

    @property
    def older_query(self) -> str:
        return self.get_query_string({BEFORE: str(self.older)})

    @property
    def newest_query(self) -> str:
        return self.get_query_string(remove=[BEFORE])

    @property
    def can_take_all(self) -> bool:
        """Whether an action may take every matching row."""
        return chosen_state(self.params.get("state")) in WALKABLE


def chosen_state(choice: str | None) -> State | None:
    """The state behind a choice of the filter, None for no choice or an unknown one."""
    if choice in READY_CHOICES:
        return State.READY
    return State(choice) if choice in set(State) else None


def as_uuid(text: str | None) -> UUID | None:
    try:
        return UUID(text.strip()) if text else None
    except ValueError:
        return None


def newest_first(queryset: "JobQuerySet", before: UUID | None) -> Iterator[UUID]:
    """The ids of matching rows, streamed newest first in steps, never loaded as a whole."""
    last = before
    while True:
        step = queryset.order_by("-id").values_list("pk", flat=True)
        if last is not None:
            step = step.filter(pk__lt=last)
        ids = list(step[:STEP])
        yield from ids
        if len(ids) < STEP:
            return
        last = ids[-1]
