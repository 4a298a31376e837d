"""What became of a mail to oneself, in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hubqueue.admin.steps import as_uuid
from hubqueue.models import Job
from hubqueue.states import UNFINISHED, State
from hubqueue.why import reasons
from notifications.addresses import sendable
from notifications.admin.faults import MEANINGS
from notifications.decision import address_of
from notifications.trial_handler import SENT, mail_trial


@dataclass(frozen=True, slots=True)
class Told:
    """``look`` colours the word; ``moving`` = more is to come, so the page looks again by itself."""

    word: str
    look: str
    sentences: Sequence[str]
    moving: bool
    job: Job


def told(job_id: str | None, person: Any) -> Told | None:
    """About the officer's own test; None for any other job."""
    wanted = as_uuid(job_id)
    if wanted is None:
        return None
    job = Job.objects.filter(pk=wanted, kind=mail_trial.kind).first()
    if job is None or job.payload.get("person_id") != str(person.pk):
        return None
    if job.state in UNFINISHED:
        return Told("On its way", "due", _waiting(job), True, job)
    if job.state == State.SUCCEEDED and job.result == SENT:
        return Told("Sent", "succeeded", _arrived(person), False, job)
    return Told("Not sent", "dead", [_meaning(job)], False, job)


def _waiting(job: Job) -> list[str]:
    if job.state == State.RUNNING:
        return ["It is being sent at this moment."]
    failed = [_meaning(job)] if job.error_code else []
    return [*failed, *(each.sentence for each in reasons(job))]


def _arrived(person: Any) -> list[str]:
    return [
        f"The mail server took it for {sendable(address_of(person))}: look into that mailbox."
        " When it is not there in a few minutes, look among the junk, and ask the operator of the mail server."
    ]


def _meaning(job: Job) -> str:
    code = job.result if isinstance(job.result, str) else job.error_code or job.state.lower()
    return MEANINGS.get(code, f"It was not sent ({code}): its job says more.")
