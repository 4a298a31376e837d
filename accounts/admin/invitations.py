"""Invitations: who was invited, whether the mail went out, inviting and sending again. Never a link."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from accounts.admin.forms import InviteForm
from accounts.errors import AccountError
from accounts.models import Invitation
from accounts.services import invite, invite_again
from hubqueue.admin import cells
from hubqueue.admin.ask import Verb, ask_and_do
from hubqueue.admin.readonly import GoesAlongAdmin
from notifications.conf import conf
from notifications.decision import address_of
from notifications.errors import AddressUnsendable
from notifications.models import Notification
from notifications.reasons import SENTENCES

PERMISSION = "accounts.invite_person"
LOOKS = {"sent": "succeeded", "failed": "dead", "suppressed": "parked", "uncertain": "retry"}


class StandingFilter(admin.SimpleListFilter):
    title = "standing"
    parameter_name = "standing"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("open", "Open"), ("accepted", "Accepted")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "open":
                return queryset.filter(accepted_at__isnull=True, person__is_active=True)
            case "accepted":
                return queryset.filter(accepted_at__isnull=False)
        return queryset


@admin.register(Invitation)
class InvitationAdmin(GoesAlongAdmin[Invitation]):
    """Whoever may invite may look; nobody edits."""

    change_list_template = "admin/accounts/invitation_list.html"
    list_display = ["address", "name", "standing", "mail", "invited", "invited_by", "sent"]
    list_display_links = None
    list_filter = [StandingFilter]
    list_select_related = ["person", "invited_by"]
    search_fields = ["person__email__iexact", "person__username__iexact"]
    search_help_text = "An address or a user name, in full."
    ordering = ["-id"]
    sortable_by = ()
    actions = ["send_again"]

    def has_view_permission(self, request: HttpRequest, obj: Invitation | None = None) -> bool:
        return self.has_invite_permission(request) or super().has_view_permission(request, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_invite_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(PERMISSION)

    def get_urls(self) -> list[Any]:
        page = self.admin_site.admin_view(self.invite_view)
        return [path("invite/", page, name="accounts_invite"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Invitation]:
        mails = Notification.objects.filter(
            recipient=OuterRef("person"), category="accounts.invitation"
        ).order_by("-id")
        return (
            super()
            .get_queryset(request)
            .annotate(
                mail_state=Subquery(mails.values("state")[:1]),
                mail_reason=Subquery(mails.values("reason")[:1]),
            )
        )

    def invite_view(self, request: HttpRequest) -> HttpResponse:
        """Ask for name, address and language; then the account, its record and the mail are one commit."""
        if not self.has_invite_permission(request):
            raise PermissionDenied
        form = InviteForm(request.POST or None)
        if request.method == "POST" and form.is_valid() and self._is_invited(request, form):
            return HttpResponseRedirect(reverse("admin:accounts_invitation_changelist"))
        return self._page(request, "invite.html", "Invite a person", form=form)

    def _is_invited(self, request: HttpRequest, form: InviteForm) -> bool:
        try:
            made = invite(**form.cleaned_data, by=request.user)
        except AccountError as refused:
            form.add_error("address", str(refused.sentence))
        except AddressUnsendable:
            form.add_error("address", "No mail can be sent to this address.")
        except ValidationError as refused:
            form.add_error("address", refused.messages)
        else:
            self.log_addition(request, made, "Invited")
            self.message_user(request, "Invited: the mail is on its way.", messages.SUCCESS)
        return form.is_valid()

    @admin.action(description="Send again …", permissions=["invite"])
    def send_again(
        self, request: HttpRequest, queryset: QuerySet[Invitation]
    ) -> HttpResponse | None:
        verb = Verb(
            "send_again",
            "Send again",
            "Each open invitation gets another mail. The link of the earlier one is dead once that goes out.",
            PERMISSION,
            "another mail is on its way.",
            lambda row, actor, reason: invite_again(row.pk, by=request.user),
            AccountError,
        )
        return ask_and_do(self, request, queryset, verb)

    @admin.display(description="address")
    def address(self, row: Invitation) -> str:
        return address_of(row.person) or cells.NOTHING

    @admin.display(description="name")
    def name(self, row: Invitation) -> str:
        return row.person.get_full_name() or cells.NOTHING

    @admin.display(description="standing")
    def standing(self, row: Invitation) -> SafeString:
        if row.accepted_at is not None:
            return cells.tag("Accepted", "succeeded")
        return cells.tag("Open", "due") if row.person.is_active else cells.tag("Left", "parked")

    @admin.display(description="last mail")
    def mail(self, row: Any) -> SafeString | str:
        if row.mail_state is None:  # not recorded yet, or forgotten long ago
            waits = timezone.now() - row.sent_at < conf().retention
            return cells.tag("Queued", "due") if waits else cells.NOTHING
        word = SENTENCES.get(row.mail_reason, row.mail_state.capitalize())
        return cells.tag(word, LOOKS.get(row.mail_state, "due"))

    @admin.display(description="invited")
    def invited(self, row: Invitation) -> SafeString | str:
        return cells.when(row.invited_at, timezone.now())

    def _page(self, request: HttpRequest, name: str, title: str, **more: Any) -> TemplateResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            "title": title,
            **more,
        }
        return TemplateResponse(request, f"admin/accounts/{name}", context)
