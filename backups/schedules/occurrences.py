"""When a schedule fires next, and which of these runs are full."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from backups.models import BackupSchedule
from backups.schedules.rule import moments


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A moment (UTC) at which a schedule fires, and whether its full rule selects it."""

    at: datetime
    full: bool


def occurrences(schedule: BackupSchedule, after: datetime, count: int) -> list[Occurrence]:
    """The next ``count`` later than ``after``, fewer where the rule ends. Whether it is enabled is not asked.

    ``full_rule`` adds none: each of its moments makes the last occurrence until then a full one, so that "on
    Sundays" selects that of Sunday. Without one, all are. Raises ``RuleRefused``.
    """
    anchor = schedule.created_at
    found = list(islice(moments(schedule.rule, schedule.zone, anchor, after), count + 1))
    if not schedule.full_rule:
        return [Occurrence(each, full=True) for each in found[:count]]
    selected = moments(schedule.full_rule, schedule.zone, anchor, after)
    answer, moment = [], next(selected, None)
    for each, following in zip(found, [*found[1:], None], strict=True):
        while moment is not None and moment < each:
            moment = next(selected, None)
        full = moment is not None and (following is None or moment < following)
        answer.append(Occurrence(each, full))
    return answer[:count]


def owes_full(schedule: BackupSchedule, since: datetime, following: datetime | None) -> bool:
    """Whether a full occurrence is among those after ``since`` and before ``following``, the next one after now.

    However many passed, and however long a busy target was waited for. Raises ``RuleRefused``.
    """
    if not schedule.full_rule:
        return True
    first = next_moment(schedule, since)
    if first is None:
        return False
    selecting = moments(
        schedule.full_rule, schedule.zone, schedule.created_at, first - timedelta(microseconds=1)
    )
    moment = next(selecting, None)
    return moment is not None and (following is None or moment < following)


def next_moment(schedule: BackupSchedule, after: datetime) -> datetime | None:
    """The next moment later than ``after``. Raises ``RuleRefused``."""
    return next(moments(schedule.rule, schedule.zone, schedule.created_at, after), None)
