"""What the list of messages is narrowed by. The choices are fixed: nothing is counted, no DISTINCT."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from notifications.admin.standing import WORDS
from notifications.categories import categories
from notifications.models import Notification
from notifications.reasons import Reason

State = Notification.State
LABELS = {
    Reason.SWITCHED_OFF: "Switched off",
    Reason.OWN_DOING: "Did it themselves",
    Reason.LEFT: "Account closed",
    Reason.NO_ADDRESS: "No address",
    Reason.ADDRESS_UNSENDABLE: "Address malformed",
    Reason.ADDRESS_REFUSED: "Address refused",
    Reason.MESSAGE_REFUSED: "Message refused",
    Reason.SUBJECT_GONE: "Subject gone",
    Reason.CATEGORY_GONE: "Kind of mail gone",
    Reason.GAVE_UP: "Given up",
    Reason.CANCELLED: "Cancelled",
    Reason.RESTORED: "On hold after a restore",
    Reason.DROPPED: "Dropped after a restore",
}


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state.value, word) for state, (word, _) in WORDS.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        return queryset.filter(state=chosen) if chosen in set(State) else queryset


class ReasonFilter(admin.SimpleListFilter):
    """Only what was not sent has a reason."""

    title = "why it was not sent"
    parameter_name = "reason"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(each.value, LABELS[each]) for each in Reason]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value()
        if chosen not in set(Reason):
            return queryset
        unsent = [State.FAILED, State.SUPPRESSED, State.HELD]
        return queryset.filter(state__in=unsent, reason=chosen)


class CategoryFilter(admin.SimpleListFilter):
    title = "kind of mail"
    parameter_name = "category"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(each.name, str(each.label)) for each in categories()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(category=self.value()) if self.value() else queryset
