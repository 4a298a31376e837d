"""All that is known of one job, gathered for its page in a fixed number of reads."""

import json
from typing import Any
from uuid import UUID

from hubqueue.admin import cells
from hubqueue.admin.verbs import fitting
from hubqueue.admin.viewer import Viewer
from hubqueue.lifecycle.database import alias
from hubqueue.models import Failure, Job, Operation, Worker
from hubqueue.querysets import database_now
from hubqueue.states import State
from hubqueue.why import reasons

MOST_CHARACTERS = 20_000
MOST_ENTRIES = 50


def described(job: Job, user: Viewer, may_see_payload: bool) -> dict[str, Any]:
    """The context of the page. ``payload`` and ``result`` are in it only when the user may see them."""
    using = alias()
    now = database_now(using)
    context: dict[str, Any] = {
        "job": job,
        "standing": cells.standing(job, now),
        "bar": None if job.progress is None else cells.bar(job.progress),
        "facts": _facts(job, now, _worker(job.claimed_by, using)),
        "why_title": _question(job),
        "reasons": reasons(job),
        "verbs": fitting(job, user),
        "failures": list(
            Failure.objects.using(using).filter(job_id=job.pk).defer("message").newest_first()[:20]
        ),
        "operations": list(
            Operation.objects.using(using).filter(job_id=job.pk).order_by("-id")[:MOST_ENTRIES]
        ),
        "may_see_payload": may_see_payload,
        "now": now,
    }
    if may_see_payload:
        context["payload"] = pretty(job.payload)
        context["result"] = None if job.result is None else pretty(job.result)
    return context


def _question(job: Job) -> str:
    return "What it is doing" if job.state == State.RUNNING else "Why it is not running"


def _worker(worker: UUID | None, using: str) -> Worker | None:
    return None if worker is None else Worker.objects.using(using).filter(pk=worker).first()


def _facts(job: Job, now: Any, worker: Worker | None) -> list[tuple[str, object]]:
    facts: list[tuple[str, object]] = [
        ("Id", str(job.pk)),
        ("Kind", job.kind),
        ("Queue", job.queue),
        ("Priority", f"{job.priority} (lower goes first)" if job.priority else "0"),
        ("Tenant", job.tenant_id or "the installation itself"),
        ("Dedupe key", job.dedupe_key or cells.NOTHING),
        ("Attempts", f"{job.attempts} of {job.max_attempts}"),
        ("Created", cells.when(job.created_at, now)),
        ("Due", cells.when(job.run_at, now)),
    ]
    for label, moment in (
        ("Last started", job.claimed_at),
        ("Failing since", job.failing_since),
        ("Runs again", job.rerun_at),
        ("Finished", job.finished_at),
    ):
        if moment is not None:
            facts.append((label, cells.when(moment, now)))
    for label, value in (
        ("Failure code", job.error_code),
        ("Parked because", job.park_reason),
        ("Asked to", job.stop_requested),
        ("Claimed by", (worker or job.claimed_by) if job.claimed_by else None),
    ):
        if value:
            facts.append((label, str(value)))
    return facts


def pretty(value: object) -> str:
    """JSON for reading, cut after 20,000 characters."""
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True)
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}\n… cut: {len(text) - MOST_CHARACTERS:,} more characters"
