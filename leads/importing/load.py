"""Good rows to the database, a chunk at a time. What stands already is a duplicate, not a change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from uuid import UUID

from django.db import connections, router, transaction

from leads.arming import arm_registration, birth_triggers
from leads.importing.rows import Problem, Row
from leads.models import Answer, Event, Question, Registration, RegistrationAnswer


@dataclass(slots=True)
class Loaded:
    """What became of a chunk of records."""

    imported: int = 0
    duplicates: int = 0
    bad: int = 0
    problems: list[Problem] = field(default_factory=list)

    def add(self, other: "Loaded") -> None:
        self.imported += other.imported
        self.duplicates += other.duplicates
        self.bad += other.bad
        self.problems += other.problems


def known_events(tenant: str | None) -> dict[str, Event]:
    """The events of a tenant by code."""
    return {event.code: event for event in Event.objects.filter(tenant_id=tenant)}


def load(found: Iterable[Row | Problem], *, arm_leads: bool, by: str) -> Loaded:
    """Store a chunk in the open transaction, with the arms of its events when ``arm_leads``.

    Imports take turns chunk by chunk, so that two of the same file find each other's rows.
    """
    _take_turns()
    loaded = Loaded()
    fresh: dict[tuple[UUID, str], Row] = {}
    chunk = list(found)
    rows = [each for each in chunk if isinstance(each, Row)]
    standing = _standing(rows)
    for each in chunk:
        if isinstance(each, Problem):
            loaded.bad += 1
            loaded.problems.append(each)
        elif (each.event.pk, each.key) in standing or (each.event.pk, each.key) in fresh:
            loaded.duplicates += 1
            loaded.problems.append(
                Problem(each.line, "duplicate", "the same registration is there already")
            )
        else:
            fresh[each.event.pk, each.key] = each
    _store(list(fresh.values()))
    if arm_leads:
        _arm(fresh.values(), by)
    loaded.imported = len(fresh)
    return loaded


def _take_turns() -> None:
    alias = router.db_for_write(Registration)
    assert transaction.get_connection(alias).in_atomic_block, "load() needs an open transaction"
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(20417, 1)")


def _standing(rows: Sequence[Row]) -> set[tuple[UUID, str | None]]:
    return set(
        Registration.objects.filter(
            event__in={row.event.pk for row in rows}, import_key__in=[row.key for row in rows]
        ).values_list("event_id", "import_key")
    )


def _store(rows: Sequence[Row]) -> None:
    if not rows:
        return
    stored = Registration.objects.bulk_create(
        Registration(
            event=row.event,
            state=row.state,
            name=row.name,
            email=row.email,
            phone=row.phone,
            company_name=row.company_name,
            sale_order_id=row.sale_order_id,
            created_at=row.created_at,
            import_key=row.key,
        )
        for row in rows
    )
    answers = _answers(rows)
    RegistrationAnswer.objects.bulk_create(
        RegistrationAnswer(
            registration=registration,
            question_id=answers[given].question_id,
            answer=answers[given],
        )
        for registration, row in zip(stored, rows, strict=True)
        for given in row.answers
    )


def _answers(rows: Sequence[Row]) -> Mapping[tuple[str, str], Answer]:
    """The answers that the rows name, made where they are new."""
    wanted = sorted({given for row in rows for given in row.answers})
    titles = sorted({title for title, _ in wanted})
    Question.objects.bulk_create([Question(title=title) for title in titles], ignore_conflicts=True)
    questions = {each.title: each for each in Question.objects.filter(title__in=titles)}
    standing = _read_answers(questions.values())
    missing = [given for given in wanted if given not in standing]
    if missing:
        Answer.objects.bulk_create(
            [Answer(question=questions[title], title=answer) for title, answer in missing],
            ignore_conflicts=True,
        )
        standing = _read_answers(questions.values())
    return standing


def _read_answers(questions: Iterable[Question]) -> dict[tuple[str, str], Answer]:
    found = Answer.objects.filter(question__in=list(questions)).select_related("question")
    return {(each.question.title, each.title): each for each in found}


def _arm(rows: Iterable[Row], by: str) -> None:
    """One arm per event and trigger, in the order of the events."""
    by_event = sorted(rows, key=lambda row: row.event.pk)
    for event_id, of_event in groupby(by_event, key=lambda row: row.event.pk):
        triggers = {t for row in of_event for t in birth_triggers(row.state)}
        arm_registration(event_id, sorted(triggers), by=by)
