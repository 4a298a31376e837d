"""The form of a backup target. What is typed as credential is never shown again."""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.views.decorators.debug import sensitive_variables

from backups.models import BackupTarget
from backups.targets.config import DESTINATION, problems
from backups.targets.credential import has_credential


class Decoder(json.JSONDecoder):
    """Whatever cannot be read is refused as JSON, a number or a depth beyond Python's limits as well."""

    def decode(self, s: str, *args: Any) -> Any:
        try:
            return super().decode(s, *args)
        except json.JSONDecodeError:
            raise
        except (ValueError, RecursionError):
            raise json.JSONDecodeError("beyond what can be read", "", 0) from None


class TargetForm(forms.ModelForm[BackupTarget]):
    """What an officer decides, checked in words."""

    new_credential = forms.CharField(
        required=False,
        label="Credential",
        strip=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
        help_text="S3: the secret of the access key. SFTP: a password or a private key. WebDAV: the password."
        " It is sealed and never shown. Empty = the one that is kept stays.",
    )
    plain_accepted = forms.BooleanField(
        required=False,
        label="I accept that archives are not encrypted",
        help_text="Whoever can read the target reads all of them. Your name and the time are kept.",
    )

    class Meta:
        model = BackupTarget
        fields = ["name", "kind", "config", "encryption", "enabled"]
        help_texts = {
            "config": "local: path. s3: bucket, access_key, region, endpoint, prefix, ca. sftp: host, port,"
            " user, host_key (the key or its SHA256 fingerprint), path. webdav: url, user, ca.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "config" in self.fields:
            self.fields["config"].decoder = Decoder  # type: ignore[attr-defined]

    @sensitive_variables()
    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        kind = cleaned.get("kind") or self.instance.kind
        if kind in BackupTarget.Kind.values and "config" in cleaned:
            if wrong := problems(kind, cleaned["config"]):
                self.add_error("config", [ValidationError(each) for each in wrong])
            elif self._goes_elsewhere(cleaned["config"]) and not cleaned.get("new_credential"):
                self.add_error(
                    "new_credential",
                    "The target is another one now: enter its credential. The one that is kept is for the old.",
                )
        plain = cleaned.get("encryption") == BackupTarget.Encryption.NONE
        if plain and not self.instance.plain_by and not cleaned.get("plain_accepted"):
            self.add_error("plain_accepted", "Without this, archives are encrypted.")
        return cleaned

    def _goes_elsewhere(self, config: dict[str, Any]) -> bool:
        """Or whoever may edit a target could have its credential sent to a server of their own."""
        if self.instance._state.adding or not has_credential(self.instance):
            return False
        before = BackupTarget.objects.values_list("config", flat=True).get(pk=self.instance.pk)
        return any(before.get(each) != config.get(each) for each in DESTINATION)
