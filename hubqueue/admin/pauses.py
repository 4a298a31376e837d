"""Pauses: what claims pass over. Adding one pauses, the action resumes; both leave an entry in the log."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.core.validators import ProhibitNullCharactersValidator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.safestring import SafeString

from hubqueue import officers
from hubqueue.admin import cells
from hubqueue.admin.readonly import ReadOnlyAdmin, on_a_list
from hubqueue.admin.verbs import ReasonForm
from hubqueue.errors import MoveRefused
from hubqueue.models import Pause


class PauseForm(forms.ModelForm[Pause]):
    value = forms.CharField(
        max_length=100,
        validators=[ProhibitNullCharactersValidator()],
        label="Name",
        help_text="The queue, the kind or the tenant, exactly as it is written on its jobs.",
    )
    reason = forms.CharField(
        max_length=200,
        validators=[ProhibitNullCharactersValidator()],
        widget=forms.TextInput(attrs={"class": "vTextField"}),
        help_text="Shown on every job that waits because of it.",
    )

    class Meta:
        model = Pause
        fields = ["scope", "value", "reason", "until"]
        help_texts = {"until": "Leave empty to pause until somebody resumes it. UTC."}

    def clean_until(self) -> datetime | None:
        until: datetime | None = self.cleaned_data["until"]
        if until is not None and until <= timezone.now():
            raise ValidationError("Expected a moment in the future.")
        return until


@admin.register(Pause)
class PauseAdmin(ReadOnlyAdmin[Pause]):
    form = PauseForm
    list_display = ["scope", "value", "state_", "reason", "paused_by", "paused_at_", "until_"]
    ordering = ["-id"]
    sortable_by = ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("hubqueue.add_pause")

    def has_view_permission(self, request: HttpRequest, obj: Pause | None = None) -> bool:
        return request.user.has_perm("hubqueue.view_pause")

    def save_model(self, request: HttpRequest, obj: Pause, form: Any, change: bool) -> None:
        """Pause through the officers' door. Never a plain save."""
        made = officers.pause(
            obj.scope,
            obj.value,
            actor=request.user.get_username(),
            reason=obj.reason,
            until=obj.until,
        )
        obj.pk, obj.paused_at = made.pk, made.paused_at

    def log_addition(self, request: HttpRequest, obj: Pause, message: Any) -> Any:
        """The officers' log has the entry."""
        return None

    def get_actions(self, request: HttpRequest, action_location: Any = None) -> dict[str, Any]:
        if not on_a_list(action_location) or not request.user.has_perm("hubqueue.resume_pause"):
            return {}
        return {"resume": (PauseAdmin.resume_view, "resume", "Resume what is selected")}

    def resume_view(self, request: HttpRequest, queryset: QuerySet[Pause]) -> HttpResponse | None:
        """Ask why, then end the pauses and say what came of each."""
        form = ReasonForm(request.POST if "confirmed" in request.POST else None)
        chosen = list(queryset[: self.list_per_page])
        if form.is_valid():
            for pause in chosen:
                self._resume(request, pause, form.cleaned_data["reason"])
            return None
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            "title": "Resume",
            "form": form,
            "pauses": chosen,
            "back": request.get_full_path(),
        }
        return TemplateResponse(request, "admin/hubqueue/pause/confirm.html", context)

    def _resume(self, request: HttpRequest, pause: Pause, reason: str) -> None:
        try:
            officers.resume(
                pause.scope, pause.value, actor=request.user.get_username(), reason=reason
            )
        except MoveRefused as refused:
            self.message_user(request, f"Refused: {refused} ({refused.code}).", messages.ERROR)
        else:
            self.message_user(
                request, f"The {pause.scope} {pause.value} goes on.", messages.SUCCESS
            )

    @admin.display(description="state")
    def state_(self, pause: Pause) -> SafeString:
        over = pause.until is not None and pause.until <= timezone.now()
        return cells.tag("over", "cancelled") if over else cells.tag("paused", "parked")

    @admin.display(description="paused")
    def paused_at_(self, pause: Pause) -> SafeString | str:
        return cells.when(pause.paused_at, timezone.now())

    @admin.display(description="until")
    def until_(self, pause: Pause) -> SafeString | str:
        return cells.when(pause.until, timezone.now()) if pause.until else "somebody resumes it"
