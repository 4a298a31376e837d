"""What the demo puts into the database. Each step can be repeated and then changes nothing."""

import secrets
from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth import get_user_model
from django.db.models import Count, Sum

from hubqueue.models import Job
from hubqueue.states import State
from leads import services
from leads.importing.events import import_events
from leads.importing.load import Loaded
from leads.imports import import_registrations
from leads.models import Answer, EventType, LeadProvenance, LeadRequest, LeadRule

FILES = Path(__file__).resolve().parent
OFFICER = "officer"
ADDRESS = "officer@demo.example"
MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Counts:
    """Groups with a lead, and how often a lead grew."""

    leads: int
    growths: int

    def since(self, before: "Counts") -> dict[str, int]:
        return {
            "created": self.leads - before.leads,
            "grown": self.growths - before.growths,
        }


def make_officer() -> str | None:
    """The demo's account, a superuser with an address. Answers its password when it is new."""
    users = get_user_model()._default_manager
    if users.filter(username=OFFICER).exists():
        users.filter(username=OFFICER, email="").update(email=ADDRESS)
        return None
    password = secrets.token_urlsafe(12)
    users.create_superuser(OFFICER, ADDRESS, password)
    return password


def load() -> Loaded:
    """Events, rules and registrations: three clean and messy files' worth, the leads of all armed."""
    with (FILES / "events.csv").open("rb") as file:
        import_events(file)
    loaded = Loaded()
    _make_rule("Demo: everybody", on_create=True)
    for name in ("registrations.csv", "registrations-messy.csv"):
        with (FILES / name).open("rb") as file:
            loaded.add(import_registrations(file, by="demo"))
    _make_rules()
    return loaded


def leads_so_far() -> Counts:
    """How many groups have a lead, and how often one grew after it was made."""
    counted = LeadProvenance.objects.filter(lead_id__isnull=False).aggregate(
        leads=Count("id"), growths=Sum("growths")
    )
    return Counts(counted["leads"], counted["growths"] or 0)


def jobs_by_kind() -> dict[str, dict[str, int]]:
    """Counts of jobs by kind and state."""
    counted: dict[str, dict[str, int]] = {}
    rows = Job.objects.values_list("kind", "state").annotate(Count("id")).order_by("kind", "state")
    for kind, state, count in rows:
        counted.setdefault(kind, {})[state] = count
    return counted


def waiting_jobs() -> list[str]:
    """One line per job that waits to be tried again or was given up, and per event that does."""
    waiting = Job.objects.waiting_for_retry() | Job.objects.filter(state=State.DEAD)
    jobs = [
        f"{job.kind} {job.pk} {job.state}: attempt {job.attempts}, {job.error_code or 'no code'}"
        for job in waiting.order_by("id")[:MOST_SHOWN]
    ]
    failed = LeadRequest.objects.failed().select_related("event").order_by("id")[:MOST_SHOWN]
    return jobs + [f"{each.event.code} will be tried again: {each.error_detail}" for each in failed]


def _make_rules() -> None:
    """Rules that need something the files brought: a kind of event, an answer."""
    kind = EventType.objects.filter(name="fair").first()
    if kind is not None:
        _make_rule(
            "Demo: guests of fairs who came",
            on_done=True,
            predicates=[{"axis": "event_type", "values": [str(kind.pk)]}],
        )
    answer = Answer.objects.filter(question__title="wants_offer", title="yes").first()
    if answer is not None:
        condition = {
            "axis": "question_answer",
            "question_id": str(answer.question_id),
            "values": [str(answer.pk)],
        }
        _make_rule("Demo: wants an offer", on_confirm=True, predicates=[condition])


def _make_rule(name: str, **fields: object) -> None:
    if not LeadRule.objects.filter(name=name).exists():
        services.create_rule(name=name, by="demo", **fields)  # type: ignore[arg-type]
