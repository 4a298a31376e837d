"""A job as JSON, for staff who may see jobs. Reading only."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse

from hubqueue.lifecycle.database import alias
from hubqueue.models import Failure, Job
from hubqueue.probes import read_only

HIDDEN = ("payload", "result", "meta")


@read_only
def job(request: HttpRequest, job_id: str) -> HttpResponse:
    """One job: 200, 401 without a session, 403 without ``hubqueue.view_job``, 404 for an unknown id.

    Payload and result are in it only for holders of ``hubqueue.view_job_payload``.
    """
    user = request.user
    if not user.is_authenticated:
        return _refused(401, "not_authenticated", {"WWW-Authenticate": 'Session realm="hubqueue"'})
    if not (user.is_active and user.is_staff and user.has_perm("hubqueue.view_job")):
        return _refused(403, "not_permitted")
    may_see_payload = user.has_perm("hubqueue.view_job_payload")
    found = _find(job_id, may_see_payload)
    if found is None:
        return _refused(404, "no_such_job")
    return JsonResponse(_described(found, may_see_payload))


def _find(job_id: str, with_payload: bool) -> Job | None:
    try:
        wanted = UUID(job_id)
    except ValueError:
        return None
    if str(wanted) != job_id.lower():
        return None
    jobs = Job.objects.using(alias())
    if not with_payload:
        jobs = jobs.defer(*HIDDEN)
    return jobs.filter(pk=wanted).first()


def _described(found: Job, with_payload: bool) -> dict[str, Any]:
    described: dict[str, Any] = {
        "id": str(found.pk),
        "kind": found.kind,
        "queue": found.queue,
        "priority": found.priority,
        "tenant": found.tenant_id,
        "dedupe_key": found.dedupe_key,
        "state": found.state,
        "attempts": found.attempts,
        "max_attempts": found.max_attempts,
        "progress": found.progress,
        "stop_requested": found.stop_requested,
        "park_reason": found.park_reason,
        "error_code": found.error_code,
        "worker": None if found.claimed_by is None else str(found.claimed_by),
        "run_at": _moment(found.run_at),
        "rerun_at": _moment(found.rerun_at),
        "created_at": _moment(found.created_at),
        "claimed_at": _moment(found.claimed_at),
        "finished_at": _moment(found.finished_at),
        "failures": [_failure(each) for each in _failures(found)],
    }
    if with_payload:
        described |= {"payload": found.payload, "result": found.result}
    return described


def _failures(found: Job) -> list[Failure]:
    newest = Failure.objects.using(alias()).filter(job_id=found.pk).defer("message").newest_first()
    return list(newest[:20])


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "attempt": failure.attempt,
        "spent": failure.spent,
        "code": failure.code,
        "exception": failure.exception,
        "sqlstate": failure.sqlstate,
        "constraint": failure.constraint,
        "frames": failure.frames,
        "failed_at": _moment(failure.failed_at),
    }


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _refused(code: int, word: str, headers: dict[str, str] | None = None) -> JsonResponse:
    return JsonResponse({"error": word}, status=code, headers=headers)
