"""The form of a schedule: what cannot be used is refused in words, at the field."""

from datetime import datetime
from typing import Any

from django import forms
from django.db import router

from backups.errors import TenantUnknown
from backups.models import BackupSchedule, Content
from backups.models.schedules import Notify
from backups.running.make import WRITERS
from backups.schedules.rule import problem
from backups.tenants import refuse_unknown
from hubqueue.querysets import database_now
from hubqueue.scheduler.cron import zone_problem

LONGEST_TENANT = 64
ALWAYS_FULL = (
    "Archives of a tenant and of the whole database are always full: leave this empty for them."
)


class ScheduleForm(forms.ModelForm[BackupSchedule]):
    """What an officer decides."""

    tenant = forms.CharField(
        required=False,
        max_length=LONGEST_TENANT,
        help_text="Whose rows. Empty = the whole installation.",
    )
    rule = forms.CharField(
        widget=forms.TextInput(attrs={"size": 70, "spellcheck": "false"}),
        help_text="A cron such as 30 2 * * *, or an RFC 5545 rule such as FREQ=WEEKLY;BYDAY=SU;BYHOUR=2;BYMINUTE=30."
        " At most every 5 minutes.",
    )
    full_rule = forms.CharField(
        required=False,
        widget=forms.TextInput(attrs={"size": 70, "spellcheck": "false"}),
        label="Full when",
        help_text="A second rule, such as FREQ=WEEKLY;BYDAY=SU: it starts nothing, but each of its moments makes the"
        " last run until then a full one; the others hold what changed since the one before. Empty = every run is full."
        " Only for the rows of the whole installation.",
    )
    notify_on = forms.MultipleChoiceField(
        required=False,
        choices=Notify.choices,
        initial=[Notify.FAILURE.value],
        widget=forms.CheckboxSelectMultiple,
        label="Tell when",
    )

    class Meta:
        model = BackupSchedule
        fields = [
            "name", "target", "tenant", "content", "rule", "full_rule", "zone", "enabled",
            "keep_last", "keep_daily", "keep_weekly", "keep_monthly", "keep_yearly", "min_keep", "notify_on",
        ]  # fmt: skip
        help_texts = {
            "zone": "In which the rule is read and days are told apart, such as Europe/Berlin.",
            "keep_last": "How many of the newest archives stay; 0 switches a line off.",
            "min_keep": "The floor: so many stay in any case, at least 1.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "content" in self.fields:
            choices = [each for each in Content.choices if each[0] in WRITERS]
            self.fields["content"] = forms.ChoiceField(choices=choices, initial=Content.ROWS)

    def clean_tenant(self) -> str | None:
        tenant: str | None = self.cleaned_data["tenant"] or None
        if "tenant" in self.changed_data:
            try:
                refuse_unknown(tenant)
            except TenantUnknown as refused:
                raise forms.ValidationError(str(refused)) from None
        return tenant

    def clean_zone(self) -> str:
        zone: str = self.cleaned_data["zone"]
        if wrong := zone_problem(zone):
            raise forms.ValidationError(f"{wrong}.")
        return zone

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if "rule" not in cleaned or "zone" not in cleaned:
            return cleaned
        for name in ("rule", "full_rule"):
            rule = cleaned.get(name)
            if rule and (wrong := problem(rule, cleaned["zone"], self._anchor())):
                self.add_error(name, wrong)
        if cleaned.get("full_rule") and not _can_be_incremental(cleaned):
            self.add_error("full_rule", ALWAYS_FULL)
        return cleaned

    def clean_min_keep(self) -> int:
        floor: int = self.cleaned_data["min_keep"]
        if floor < 1:
            raise forms.ValidationError(f"The floor must be at least 1, got {floor}.")
        return floor

    def _anchor(self) -> datetime:
        if self.instance._state.adding:
            return database_now(router.db_for_write(BackupSchedule))
        return self.instance.created_at


def _can_be_incremental(cleaned: dict[str, Any]) -> bool:
    return not cleaned.get("tenant") and cleaned.get("content") == Content.ROWS
