"""Jobs: the list in millions, one job with all that is known of it, and the officers' verbs."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from hubqueue.admin import cells, filters
from hubqueue.admin.changelist import (
    WALKABLE,
    JobChangeList,
    chosen_state,
    newest_first,
)
from hubqueue.admin.detail import described
from hubqueue.admin.readonly import MOST_COUNTED, ReadOnlyAdmin, bounded_count, on_a_list
from hubqueue.admin.steps import BEFORE, as_uuid
from hubqueue.admin.verbs import VERBS, ReasonForm, Verb, do
from hubqueue.errors import MoveRefused
from hubqueue.lifecycle.database import alias
from hubqueue.models import Job
from hubqueue.officers import VERBS as DOORS
from hubqueue.querysets import JobQuerySet
from hubqueue.states import State

BIG = ("payload", "result", "meta")
# How the state a verb leads to is said.
WORDS = {state: "ready to run" if state == State.READY else state.lower() for state in State}
CHOSEN_BY = {"state", "kind", "queue", "tenant", "code"}


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin[Job]):
    list_display = [
        "state_",
        "kind_",
        "queue_",
        "tenant_",
        "due_",
        "attempts_",
    ]
    list_display_links = ["kind_"]
    list_filter = [
        filters.StateFilter,
        filters.KindFilter,
        filters.QueueFilter,
        filters.TenantFilter,
        filters.CodeFilter,
    ]
    search_fields = ["id"]
    search_help_text = "A job's id or its dedupe key, whole and exact."
    ordering = ["-id"]
    sortable_by = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        return Job.objects.using(alias()).defer(*BIG)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[JobChangeList]:
        return JobChangeList

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return lookup in CHOSEN_BY

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Job], search_term: str
    ) -> tuple[QuerySet[Job], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        if "\x00" in term or len(term) > 200:
            return queryset.none(), False
        job_id = as_uuid(term)
        found = queryset.filter(dedupe_key=term) if job_id is None else queryset.filter(pk=job_id)
        return found, False

    def get_urls(self) -> list[Any]:
        wrap = self.admin_site.admin_view
        return [
            path("", wrap(self.changelist_view), name="hubqueue_job_changelist"),
            path("<uuid:job_id>/change/", wrap(self.detail_view), name="hubqueue_job_change"),
            path("<uuid:job_id>/<slug:word>/", wrap(self.verb_view), name="hubqueue_job_verb"),
        ]

    def detail_view(self, request: HttpRequest, job_id: UUID) -> HttpResponse:
        """One job. Payload and result only with ``hubqueue.view_job_payload``."""
        if request.method not in {"GET", "HEAD"}:
            return HttpResponseNotAllowed(["GET", "HEAD"])
        if not self.has_view_permission(request):
            raise PermissionDenied
        may_see_payload = request.user.has_perm("hubqueue.view_job_payload")
        rows = Job.objects.using(alias())
        job = (rows if may_see_payload else rows.defer(*BIG)).filter(pk=job_id).first()
        if job is None:
            raise Http404("There is no such job.")
        context = {
            **self._context(request),
            **described(job, request.user, may_see_payload),
            "title": job.kind,
        }
        return TemplateResponse(request, "admin/hubqueue/job/detail.html", context)

    def verb_view(self, request: HttpRequest, job_id: UUID, word: str) -> HttpResponse:
        """Ask for the reason, then do one verb on one job and say what came of it."""
        verb = VERBS.get(word)
        if verb is None:
            raise Http404("There is no such verb.")
        if request.method not in {"GET", "HEAD", "POST"}:
            return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
        if not (self.has_view_permission(request) and request.user.has_perm(verb.permission)):
            raise PermissionDenied
        back = reverse("admin:hubqueue_job_change", args=[job_id])
        form = ReasonForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            self._do_one(request, verb, job_id, form.cleaned_data["reason"])
            return HttpResponseRedirect(back)
        job = self.get_queryset(request).filter(pk=job_id).first()
        if job is None:
            raise Http404("There is no such job.")
        context = {
            **self._context(request),
            "title": f"{verb.label}: {job.kind}",
            "verb": verb,
            "form": form,
            "jobs": [job],
            "count": 1,
            "back": back,
        }
        return TemplateResponse(request, "admin/hubqueue/job/confirm.html", context)

    def _do_one(self, request: HttpRequest, verb: Verb, job_id: UUID, reason: str) -> None:
        try:
            state = DOORS[verb.move](job_id, actor=request.user.get_username(), reason=reason)
        except MoveRefused as refused:
            self.message_user(
                request, f"{verb.label} was refused: {refused} ({refused.code}).", messages.ERROR
            )
            return
        asked = state == State.RUNNING
        said = "the job was asked to stop" if asked else f"the job is now {WORDS[state]}"
        self.message_user(request, f"{verb.label}: {said}.", messages.SUCCESS)

    def get_actions(self, request: HttpRequest, action_location: Any = None) -> dict[str, Any]:
        """The verbs this user may do. Everything else, deleting among it, is not offered."""
        return {
            verb.word: (self._action(verb), verb.word, f"{verb.label} the selected jobs")
            for verb in VERBS.values()
            if on_a_list(action_location) and request.user.has_perm(verb.permission)
        }

    def _action(self, verb: Verb) -> Callable[..., HttpResponse]:
        def act(model_admin: JobAdmin, request: HttpRequest, queryset: JobQuerySet) -> HttpResponse:
            return model_admin.bulk_view(request, queryset, verb)

        return act

    def bulk_view(self, request: HttpRequest, queryset: JobQuerySet, verb: Verb) -> HttpResponse:
        """The verb on the selected rows, or on all matching ones of a state that an index can walk."""
        everything = request.POST.get("select_across") == "1"
        if everything and chosen_state(request.GET.get("state")) not in WALKABLE:
            self.message_user(
                request,
                "Choose the state Dead letters or Parked first: only those can be taken all at once.",
                messages.ERROR,
            )
            return HttpResponseRedirect(request.get_full_path())
        form = ReasonForm(request.POST if "confirmed" in request.POST else None)
        context = {
            **self._context(request),
            "title": f"{verb.label} jobs",
            "verb": verb,
            "form": form,
            "everything": everything,
            "back": request.get_full_path(),
        }
        if form.is_valid():
            after = as_uuid(request.POST.get(BEFORE)) if everything else None
            outcome = do(
                verb,
                newest_first(queryset, after),
                actor=request.user.get_username(),
                reason=form.cleaned_data["reason"],
            )
            context |= {"outcome": outcome, "reason": form.cleaned_data["reason"]}
            return TemplateResponse(request, "admin/hubqueue/job/outcome.html", context)
        shown = list(queryset.order_by("-id")[: self.list_per_page])
        count = bounded_count(queryset) if everything else len(shown)
        context |= {
            "jobs": shown,
            "count": min(count, MOST_COUNTED),
            "too_many": count > MOST_COUNTED,
        }
        return TemplateResponse(request, "admin/hubqueue/job/confirm.html", context)

    def _context(self, request: HttpRequest) -> dict[str, Any]:
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "media": self.media,
            "now": timezone.now(),
        }

    @admin.display(description="state")
    def state_(self, job: Job) -> SafeString:
        shown = cells.pill(job, timezone.now())
        if job.progress is not None:
            return format_html("{} {}", shown, cells.bar(job.progress))
        if job.error_code:
            return format_html('{} <span class="hq-code">{}</span>', shown, job.error_code)
        return shown

    @admin.display(description="kind")
    def kind_(self, job: Job) -> str:
        return job.kind

    @admin.display(description="queue")
    def queue_(self, job: Job) -> str:
        return job.queue

    @admin.display(description="tenant", empty_value=cells.NOTHING)
    def tenant_(self, job: Job) -> str | None:
        return job.tenant_id

    @admin.display(description="due / ended")
    def due_(self, job: Job) -> SafeString | str:
        return cells.when(job.finished_at or job.run_at, timezone.now())

    @admin.display(description="attempts")
    def attempts_(self, job: Job) -> str:
        return f"{job.attempts}/{job.max_attempts}"
