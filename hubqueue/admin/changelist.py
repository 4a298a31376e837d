"""The list of jobs: pages by id, never by number, and no full count."""

from collections.abc import Iterator
from uuid import UUID

from django.http import HttpRequest

from hubqueue.admin import window
from hubqueue.admin.steps import StepChangeList, as_uuid
from hubqueue.querysets import JobQuerySet
from hubqueue.states import State

STEP = 500
# The states whose every row an action may take at once: an index walks them newest first.
WALKABLE = frozenset({State.DEAD, State.PARKED})
READY_CHOICES = {"due", "scheduled", "retry"}


class JobChangeList(StepChangeList):
    def get_results(self, request: HttpRequest) -> None:
        page = window.look(self._asked(), self.list_per_page)
        self.show(page.rows, count=page.count, older=page.older, looked_back_to=page.looked_back_to)

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
    def can_take_all(self) -> bool:
        """Whether an action may take every matching row."""
        return chosen_state(self.params.get("state")) in WALKABLE


def chosen_state(choice: str | None) -> State | None:
    """The state behind a choice of the filter, None for no choice or an unknown one."""
    if choice in READY_CHOICES:
        return State.READY
    return State(choice) if choice in set(State) else None


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
