"""The list of messages, newest first: what no index serves is asked of the newest ``REACH`` rows only."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest

from hubqueue.admin.readonly import bounded_count
from hubqueue.admin.steps import StepChangeList
from hubqueue.admin.window import moment_of
from notifications.models import Notification

State = Notification.State
REACH = 200_000
# The states that an index holds by themselves.
EXCEPTIONS = frozenset(State) - {State.SENT}
# What the index of a state, or that of ids, has to look through row by row.
WALKED = frozenset({"reason", "category", "tenant"})


class NotificationChangeList(StepChangeList):
    def get_results(self, request: HttpRequest) -> None:
        size = self.list_per_page
        rows: QuerySet[Any] = self._below(self.queryset)
        horizon = self._horizon()
        if horizon is not None:
            rows = rows.filter(pk__gte=horizon)
        page = list(rows[: size + 1])
        full = len(page) > size
        page = page[:size]
        count = None
        if self.before is None:
            count = bounded_count(rows) if full else len(page)
        self.show(
            page,
            count=count,
            older=page[-1].pk if full else horizon,
            looked_back_to=None if full or horizon is None else moment_of(horizon),
        )

    def _horizon(self) -> UUID | None:
        """The id down to which is looked, when there are older rows than that and no index helps."""
        chosen = self.params.get("state")
        if not (WALKED & self.params.keys() or chosen == State.SENT):
            return None
        walked = self._below(Notification.objects.order_by("-id"))
        if chosen in EXCEPTIONS:
            walked = walked.filter(state=chosen)
        return walked.values_list("pk", flat=True)[REACH - 1 : REACH].first()

    def _below(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        return rows if self.before is None else rows.filter(pk__lt=self.before)
