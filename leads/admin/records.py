"""Provenance and leads: what was made of which group. To look at, and to relink after a merge."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.validators import ProhibitNullCharactersValidator
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse

from hubqueue.admin.readonly import LookOnlyAdmin
from hubqueue.admin.verbs import ReasonForm
from leads import officers
from leads.errors import LeadError
from leads.models import Lead, LeadProvenance


class RelinkForm(ReasonForm):
    """Which lead was merged into which."""

    old = forms.CharField(max_length=64, validators=[ProhibitNullCharactersValidator()])
    new = forms.CharField(max_length=64, validators=[ProhibitNullCharactersValidator()])
    field_order = ["old", "new", "reason"]


@admin.register(LeadProvenance)
class LeadProvenanceAdmin(LookOnlyAdmin[LeadProvenance]):
    change_list_template = "admin/leads/provenance_list.html"
    list_display = ["group_key", "grouping", "rule", "lead_id", "members", "updated_at"]
    list_select_related = ["rule"]
    search_fields = ["lead_id__exact", "group_key__exact"]
    search_help_text = "The id of a lead or the key of a group, in full."
    ordering = ["-id"]
    sortable_by = ()

    def get_urls(self) -> list[Any]:
        relink = self.admin_site.admin_view(self.relink_view)
        return [path("relink/", relink, name="leads_relink"), *super().get_urls()]

    def relink_view(self, request: HttpRequest) -> HttpResponse:
        """Move the groups of one lead to another, with a reason."""
        back = reverse("admin:leads_leadprovenance_changelist")
        if not request.user.has_perm("leads.relink_lead"):
            self.message_user(request, "You may not relink leads.", messages.ERROR)
            return HttpResponseRedirect(back)
        form = RelinkForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            said = form.cleaned_data
            try:
                moved = officers.relink_lead(
                    said["old"],
                    said["new"],
                    actor=request.user.get_username(),
                    reason=said["reason"],
                )
            except LeadError as refused:
                self.message_user(request, f"Refused ({refused.code}): {refused}", messages.ERROR)
            else:
                self.message_user(request, f"{moved} groups moved.", messages.SUCCESS)
            return HttpResponseRedirect(back)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            "title": "Relink a lead",
            "form": form,
            "back": back,
        }
        return TemplateResponse(request, "admin/leads/relink.html", context)


@admin.register(Lead)
class LeadAdmin(LookOnlyAdmin[Lead]):
    list_display = ["name", "contact_name", "company_name", "registrations", "rule", "created_at"]
    list_select_related = ["rule"]
    search_fields = ["id__exact", "group_key__exact"]
    search_help_text = "The id of a lead or the key of its group, in full."
    ordering = ["-id"]
    sortable_by = ()
