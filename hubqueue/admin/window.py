"""Look at jobs newest first, in bounded steps: the cost of a page does not grow with the table.

What an index serves (the states of exceptions, READY, RUNNING) is read through it. Any other filter is asked
of the newest ``REACH`` rows only, and the page says how far back it looked; the next step goes on from there.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import BooleanField, F, Func

from hubqueue.admin.readonly import bounded_count
from hubqueue.aside import steadily
from hubqueue.models import Job
from hubqueue.querysets import JobQuerySet
from hubqueue.registry import registry
from hubqueue.states import State

REACH = 250_000
READY_REACH = 20_000
SUSPECT_REACH = 1_000
EXCEPTIONS = frozenset({State.DEAD, State.PARKED, State.CANCELLED})


@dataclass(frozen=True, slots=True)
class Asked:
    """What an officer chose. ``queryset`` carries every filter; the rest says which index can help."""

    queryset: JobQuerySet
    state: State | None = None
    queue: str | None = None
    filtered: bool = False
    job_id: UUID | None = None
    dedupe_key: str | None = None
    before: UUID | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """``rows`` newest first; ``count`` up to 1,001 (None past the first page).

    ``older`` is where the next page starts, None at the end. ``looked_back_to`` is set when the rows ended
    because the look back did, not because there are no more.
    """

    rows: list[Job]
    count: int | None
    older: UUID | None
    looked_back_to: datetime | None


def look(asked: Asked, size: int) -> Page:
    """One page of up to ``size`` rows. At most six statements, each bounded."""
    if asked.job_id is not None:
        found = list(asked.queryset.filter(pk=asked.job_id))
        return Page(found, len(found), None, None)
    with steadily(asked.queryset.db):
        return _page(asked, size)


def _page(asked: Asked, size: int) -> Page:
    horizon, rows = _within_reach(asked)
    page = list(rows[: size + 1])
    page = _with_standing(asked, page)
    full = len(page) > size
    page = page[:size]
    count = None
    if asked.before is None:
        count = bounded_count(rows) if full else len(page)
    if full:
        return Page(page, count, page[-1].pk, None)
    return Page(page, count, horizon, None if horizon is None else moment_of(horizon))


def _within_reach(asked: Asked) -> tuple[UUID | None, JobQuerySet]:
    """The matching rows within reach, and the id down to which was looked when older ones exist."""
    rows = asked.queryset.order_by("-id")
    if asked.before is not None:
        rows = rows.filter(pk__lt=asked.before)
    if asked.state == State.RUNNING:
        running = Job.objects.using(rows.db).running().order_by("claimed_by").values("pk")
        return None, rows.filter(_is_any(ArraySubquery(running[:READY_REACH])))
    if asked.state == State.READY and (narrow := _ready(asked, rows)) is not None:
        return None, narrow
    walked = Job.objects.using(rows.db).all()
    if asked.state in EXCEPTIONS:
        walked = walked.filter(state=asked.state)
    if not asked.filtered:
        return None, rows
    if asked.before is not None:
        walked = walked.filter(pk__lt=asked.before)
    horizon = walked.order_by("-id").values_list("pk", flat=True)[REACH - 1 : REACH].first()
    return horizon, rows if horizon is None else rows.filter(pk__gte=horizon)


def _ready(asked: Asked, rows: JobQuerySet) -> JobQuerySet | None:
    """READY rows through the index of due rows, when there are not too many to sort."""
    ready = Job.objects.using(rows.db).ready()
    if asked.queue is not None:
        ready = ready.filter(queue=asked.queue)
    usual = ready.filter(suspect=False).order_by("queue", "priority", "run_at", "id").values("pk")
    if usual[: READY_REACH + 1].count() > READY_REACH:
        return None
    suspects = ready.filter(suspect=True).order_by("queue", "run_at").values("pk")
    both = Func(
        ArraySubquery(usual[:READY_REACH]),
        ArraySubquery(suspects[:SUSPECT_REACH]),
        function="array_cat",
    )
    return rows.filter(_is_any(both))


def _is_any(ids: Func | ArraySubquery) -> Func:
    """``id = ANY (ids)``: the array is made once, then each id is looked up by the primary key."""
    return Func(
        F("pk"),
        ids,
        template="(%(expressions)s))",
        arg_joiner=" = ANY (",
        output_field=BooleanField(),
    )


def _with_standing(asked: Asked, page: list[Job]) -> list[Job]:
    """The unfinished jobs of a dedupe key come through its unique index, however old they are."""
    if asked.dedupe_key is None:
        return page
    kinds = registry.kinds()
    standing = asked.queryset.unfinished().filter(kind__in=kinds, dedupe_key=asked.dedupe_key)
    if asked.before is not None:
        standing = standing.filter(pk__lt=asked.before)
    merged = {job.pk: job for job in (*page, *standing.order_by()[: len(kinds)])}
    return sorted(merged.values(), key=lambda job: job.pk, reverse=True)


def moment_of(job_id: UUID) -> datetime:
    """When an id was made: the first 48 bits of a UUIDv7 are milliseconds."""
    return datetime.fromtimestamp(min(job_id.int >> 80, 253_402_300_799_000) / 1000, tz=UTC)
