"""What ``manage.py check`` says about schedules."""

from collections.abc import Iterable
from typing import Any

from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from hubqueue.conf import conf
from hubqueue.errors import PayloadRefused
from hubqueue.registry import Schedule, registry
from hubqueue.scheduler.cron import cron_problem, zone_problem

LONGEST_NAME = 100


@register("hubqueue")
def check_schedules(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Every schedule can tick and its job can be enqueued."""
    try:
        conf()
    except ImproperlyConfigured:  # the check of the settings tells
        return []
    return [Error(text, id=check_id) for check_id, text in problems(registry.schedules.values())]


def problems(schedules: Iterable[Schedule]) -> list[tuple[str, str]]:
    """Every contradiction as (check id, sentence)."""
    found = []
    for schedule in schedules:
        if problem := cron_problem(schedule.cron):
            found.append(("hubqueue.E020", f"{schedule.name}: {problem}."))
        if problem := zone_problem(schedule.timezone):
            found.append(("hubqueue.E021", f"{schedule.name}: {problem}."))
        if schedule.limit < 1:
            found.append(
                (
                    "hubqueue.E022",
                    f"{schedule.name}: limit must be at least 1, got {schedule.limit}.",
                )
            )
        if not 0 < len(schedule.name) <= LONGEST_NAME:
            found.append(
                (
                    "hubqueue.E023",
                    f"{schedule.name[:20]}…: the name of a schedule has up to {LONGEST_NAME} characters,"
                    f" got {len(schedule.name)}.",
                )
            )
        try:
            schedule.handler.item()
        except PayloadRefused as refused:
            found.append(
                (
                    "hubqueue.E024",
                    f"{schedule.name}: a periodic handler takes no required arguments, got one that needs"
                    f" {refused.argument!r}; give it a default.",
                )
            )
    return found
