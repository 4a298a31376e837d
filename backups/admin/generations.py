"""What the page of a schedule's generations shows."""

from typing import Any
from zoneinfo import ZoneInfo

from backups.decisions import decisions_of, others_of, plan_of
from backups.models import BackupSchedule
from backups.retention.picture import picture
from backups.retention.rule import expiring


def generations(schedule: BackupSchedule) -> dict[str, Any]:
    """The template's context; ``problem`` instead of ``picture`` when there cannot be one."""
    context: dict[str, Any] = {
        "title": f"Generations of {schedule.name}",
        "schedule": schedule,
        "others": others_of(schedule),
        "problem": "",
        "picture": None,
        "next": "",
    }
    try:
        decisions = decisions_of(schedule)
        plan = plan_of(schedule)
        zone = ZoneInfo(schedule.zone)
    except (ValueError, KeyError):
        context["problem"] = (
            "The plan or the time zone of this schedule cannot be read, so nothing expires: correct the schedule."
        )
        return context
    if decisions:
        context["picture"] = picture(decisions, plan, zone)
        going = expiring(decisions)
        context["next"] = "Nothing expires after the next run, unless that run moves a row on."
        if going:
            start = f"{going[0].start.astimezone(zone):%Y-%m-%d %H:%M}"
            context["next"] = (
                f"Next to go, after the next run of this schedule that works: the archive of {start}."
            )
    return context
