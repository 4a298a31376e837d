"""Events, registrations, questions and answers."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from hubqueue.admin.readonly import BoundedAdmin
from leads import services
from leads.errors import LeadError
from leads.models import Answer, Event, EventType, Question, Registration, RegistrationAnswer

MOST_AT_ONCE = 500


@admin.register(EventType)
class EventTypeAdmin(BoundedAdmin[EventType]):
    search_fields = ["name"]
    actions = None


@admin.register(Event)
class EventAdmin(BoundedAdmin[Event]):
    list_display = ["code", "name", "type", "time_zone", "tenant_id"]
    list_select_related = ["type"]
    search_fields = ["code__startswith", "name__istartswith"]
    ordering = ["-id"]
    actions = None

    def save_model(self, request: HttpRequest, obj: Event, form: Any, change: bool) -> None:
        """A change goes the way of every other: a new type or company arms the event."""
        if not change:
            super().save_model(request, obj, form, change)
            return
        values = {name: form.cleaned_data[name] for name in form.changed_data}
        if values:
            stored = Event.objects.get(pk=obj.pk)
            services.change_event(stored, by=request.user.get_username(), **values)


class AnswerOfRegistrationInline(admin.TabularInline[RegistrationAnswer, Registration]):
    model = RegistrationAnswer
    extra = 0

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Registration)
class RegistrationAdmin(BoundedAdmin[Registration]):
    """A registration is added by a form and moved by actions; both arm as ``register()`` does."""

    list_display = [
        "name",
        "event",
        "state",
        "email",
        "company_name",
        "sale_order_id",
        "created_at",
    ]
    list_filter = ["state"]
    list_select_related = ["event"]
    search_fields = ["id__exact", "email__exact", "event__code__exact"]
    search_help_text = "An e-mail address, an id or the code of an event, in full."
    ordering = ["-id"]
    sortable_by = ()
    fields = [
        "event", "state", "active", "name", "email", "phone", "company_name", "partner_id",
        "sale_order_id",
    ]  # fmt: skip
    autocomplete_fields = ["event"]
    inlines = [AnswerOfRegistrationInline]
    actions = ["confirm", "finish", "cancel"]

    def has_change_permission(self, request: HttpRequest, obj: Registration | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Registration | None = None) -> bool:
        return False

    def has_move_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("leads.change_registration"))

    def save_model(self, request: HttpRequest, obj: Registration, form: Any, change: bool) -> None:
        values = {name: form.cleaned_data[name] for name in form.cleaned_data if name != "event"}
        made = services.register(obj.event, by=request.user.get_username(), **values)
        obj.pk = made.pk
        obj._state.adding = False

    @admin.action(description="Confirm", permissions=["move"])
    def confirm(self, request: HttpRequest, queryset: QuerySet[Registration]) -> None:
        self._move(request, queryset, services.confirm)

    @admin.action(description="Mark as done", permissions=["move"])
    def finish(self, request: HttpRequest, queryset: QuerySet[Registration]) -> None:
        self._move(request, queryset, services.finish)

    @admin.action(description="Cancel", permissions=["move"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Registration]) -> None:
        self._move(request, queryset, services.cancel)

    def _move(self, request: HttpRequest, queryset: QuerySet[Registration], move: Any) -> None:
        done = refused = 0
        for registration in queryset[:MOST_AT_ONCE]:
            try:
                move(registration, by=request.user.get_username())
                done += 1
            except LeadError:
                refused += 1
        level = messages.WARNING if refused else messages.SUCCESS
        self.message_user(request, f"{done} moved, {refused} refused.", level)


class AnswerInline(admin.TabularInline[Answer, Question]):
    model = Answer
    extra = 0


@admin.register(Question)
class QuestionAdmin(BoundedAdmin[Question]):
    search_fields = ["title"]
    inlines = [AnswerInline]
    actions = None
