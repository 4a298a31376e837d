"""Makes what the tests of the leads app need."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import UUID, uuid4

from django.db import connection

from leads.generation import Outcome, run_pass
from leads.grouping import Group
from leads.models import Answer, Event, LeadArm, LeadRequest, Question, Registration
from leads.sinks import DatabaseSink, Sink

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
_number = count(1)


class Steps:
    """A job as a pass sees it; ``at_checkpoint`` runs at each checkpoint."""

    def __init__(self, at_checkpoint: Callable[[], None] = lambda: None) -> None:
        self.id = uuid4()
        self.at_checkpoint = at_checkpoint
        self.shares: list[float] = []

    def checkpoint(self) -> None:
        self.at_checkpoint()

    def progress(self, share: float) -> None:
        self.shares.append(share)


class OutsideSink(Sink):
    """Keeps leads in memory, as a CRM does: by idempotency key."""

    inside_database = False

    def __init__(self) -> None:
        self.leads: dict[str, str] = {}
        self.created: list[Group] = []
        self.updated: list[Group] = []
        self.in_transaction: list[bool] = []

    def create_lead(self, group: Group) -> str:
        self.in_transaction.append(connection.in_atomic_block)
        self.created.append(group)
        return self.leads.setdefault(group.idempotency_key, f"crm-{len(self.leads) + 1}")

    def update_lead(self, lead_id: str, group: Group) -> None:
        self.in_transaction.append(connection.in_atomic_block)
        self.updated.append(group)


class HookedSink(DatabaseSink):
    """The database sink, with a hook before leads are made."""

    def __init__(self, hook: Callable[[Sequence[Group]], None]) -> None:
        self.hook = hook

    def create_leads(self, groups: Sequence[Group]) -> list[str]:
        self.hook(groups)
        return super().create_leads(groups)

    def update_leads(self, groups: Sequence[Group]) -> None:
        self.hook(groups)
        super().update_leads(groups)


def make_event(**fields: Any) -> Event:
    number = next(_number)
    return Event.objects.create(**{"code": f"E{number}", "name": f"Event {number}", **fields})


def make_registration(event: Event, **fields: Any) -> Registration:
    """A row as it stands after an import without leads: nothing is armed."""
    number = next(_number)
    said = {"name": f"Person {number}", "email": f"p{number}@example.org", "created_at": NOON}
    return Registration.objects.create(event=event, **{**said, **fields})


def make_answers(title: str, *answers: str) -> tuple[Question, list[Answer]]:
    question = Question.objects.create(title=title)
    return question, [Answer.objects.create(question=question, title=each) for each in answers]


def arms(event: Event) -> list[str]:
    return list(
        LeadArm.objects.filter(event=event).order_by("id").values_list("trigger", flat=True)
    )


def request_of(event: Event) -> LeadRequest:
    return LeadRequest.objects.get(event=event)


def walk_all(sink: Sink | None = None, job: Steps | None = None) -> Outcome:
    return run_pass(job or Steps(), sink=sink or DatabaseSink())


def walk_until_done(sink: Sink | None = None) -> None:
    """Passes, until nothing is open; fails when that takes too many."""
    for _ in range(20):
        walk_all(sink)
        if not LeadRequest.objects.open().exists():
            return
    raise AssertionError("requests stay open after 20 passes")


def taken(rule_id: UUID) -> set[UUID]:
    """The registrations that the rule has put into groups."""
    return set(
        Registration.objects.filter(provenances__rule_id=rule_id).values_list("pk", flat=True)
    )


def elsewhere(work: Callable[[], Any]) -> Any:
    """Do ``work`` on a connection of its own, which waits for no lock longer than two seconds."""
    answer: list[Any] = []

    def run() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '2s'")
            answer.append(work())
        except BaseException as raised:
            answer.append(raised)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(30)
    assert answer, "the other connection did not answer in 30 seconds"
    if isinstance(answer[0], BaseException):
        raise answer[0]
    return answer[0]


@contextmanager
def before_statement(number: int, work: Callable[[], Any]) -> Iterator[list[int]]:
    """Do ``work`` before the ``number``-th statement of this connection; yields how many there were."""
    seen = [0]

    def wrapper(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        seen[0] += 1
        if seen[0] == number:
            work()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(wrapper):
        yield seen
