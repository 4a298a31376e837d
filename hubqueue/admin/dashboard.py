"""The block about the queue on the admin's first page."""

from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from hubqueue import gauges, metrics
from hubqueue.admin.cells import NOTHING, span
from hubqueue.admin.overviews import Overview, add
from hubqueue.aside import Unreachable

LATE_TICK = 60


@dataclass(frozen=True, slots=True)
class Tile:
    number: str
    word: str
    address: str = ""
    alarm: bool = False


def dashboard() -> dict[str, Any]:
    """Depths, workers and leader out of the cached picture that scrapes use: at most 5 seconds old."""
    try:
        picture = gauges.current.answer()
    except Unreachable:
        return {"picture": None}
    return {"picture": picture, "tiles": _tiles(picture), "queues": _queues(picture)}


add(Overview("admin/hubqueue/dashboard.html", dashboard, "hubqueue.view_job"))


def _tiles(picture: gauges.Picture) -> list[Tile]:
    jobs = reverse("admin:hubqueue_job_changelist")
    totals = {
        state: sum(count for (_, where), count in picture.depth.items() if where == state)
        for state in gauges.STATES
    }
    tick = picture.tick_age
    return [
        Tile(_number(totals[gauges.DUE], bool(picture.capped)), "due", f"{jobs}?state=due"),
        Tile(
            _number(totals[gauges.SCHEDULED], bool(picture.capped)),
            "scheduled",
            f"{jobs}?state=scheduled",
        ),
        Tile(_number(totals[gauges.RUNNING]), "running", f"{jobs}?state=RUNNING"),
        Tile(_number(totals[gauges.PARKED]), "parked", f"{jobs}?state=PARKED"),
        Tile(
            _number(totals[gauges.DEAD]),
            "dead letters",
            f"{jobs}?state=DEAD",
            alarm=totals[gauges.DEAD] > 0,
        ),
        Tile(
            str(picture.workers),
            "workers alive",
            reverse("admin:hubqueue_worker_changelist"),
            alarm=not picture.workers,
        ),
        Tile(
            str(picture.pauses),
            "pauses",
            reverse("admin:hubqueue_pause_changelist"),
            alarm=picture.pauses > 0,
        ),
        Tile(
            NOTHING if tick is None else span(tick),
            "since the scheduler's tick",
            reverse("admin:hubqueue_leader_changelist"),
            alarm=tick is None or tick > LATE_TICK,
        ),
    ]


def _number(count: int, capped: bool = False) -> str:
    return f"{count:,}{'+' if capped or count >= gauges.CAP else ''}"


def _queues(picture: gauges.Picture) -> list[dict[str, Any]]:
    longest = max([1, *picture.waiting.values()])
    names = [
        *metrics.known_queues(),
        *([metrics.UNKNOWN] if picture.waiting[metrics.UNKNOWN] else []),
    ]
    return [
        {
            "queue": name,
            "due": f"{picture.waiting[name]:,}",
            "capped": name in picture.capped,
            "share": round(100 * picture.waiting[name] / longest),
            "oldest": span(picture.oldest_due[name]) if name in picture.oldest_due else NOTHING,
        }
        for name in names
    ]
