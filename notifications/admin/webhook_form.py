"""The form of a webhook subscription."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.text import capfirst

from hubqueue.ids import uuid7
from notifications.models import WebhookSubscription
from notifications.webhooks.events import subscribable
from notifications.webhooks.targets import check_target
from outbound.errors import OutboundError


class SubscriptionForm(forms.ModelForm[WebhookSubscription]):
    """What an officer decides. A URL that is not called is refused here, in words."""

    # So that a form that is sent twice makes one subscription.
    new_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid7, required=False)
    event_types = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, help_text="What the endpoint is told of."
    )

    class Meta:
        model = WebhookSubscription
        fields = ["name", "tenant_id", "url", "event_types", "owner"]
        widgets = {"url": forms.URLInput(attrs={"class": "vLargeTextField"})}
        help_texts = {
            "tenant_id": "Empty = events of no tenant.",
            "url": "https://, a host by its name, no user name and no password. Redirects are not followed.",
            "owner": "Gets a mail when the subscription is switched off.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = {each.name: f"{each.label} ({each.name})" for each in subscribable()}
        kept = {each: each for each in self.instance.event_types if each not in known}
        if "event_types" in self.fields:
            self.fields["event_types"].choices = list((known | kept).items())  # type: ignore[attr-defined]

    def clean_url(self) -> str:
        url = str(self.cleaned_data["url"])
        try:
            check_target(url)
        except OutboundError as refused:
            raise ValidationError(f"{capfirst(str(refused))}.") from None
        return url

    def clean_new_id(self) -> Any:
        given = self.cleaned_data.get("new_id")
        adding = self.instance._state.adding
        if adding and given and WebhookSubscription.objects.filter(pk=given).exists():
            raise ValidationError(
                "This subscription was made already. Its secret was shown then; rotate it for a new one."
            )
        return given
