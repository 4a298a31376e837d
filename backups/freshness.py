"""The duty that notices schedules which make no backups, whatever keeps them from it."""

from datetime import datetime, timedelta

from django.db import router, transaction

from backups.errors import RuleRefused
from backups.models import BackupSchedule
from backups.notices import START, officers
from backups.schedules.occurrences import occurrences
from backups.stale_notice import NAME, cause_of, newest_success
from hubqueue.api import Cadence, duty
from hubqueue.querysets import database_now
from notifications.services import notify

PERIODS = 2


def stale_at(schedule: BackupSchedule) -> datetime | None:
    """When so many moments of the rule have passed since a run worked, or since the schedule was made.

    None for a rule that has no such moment any more. Raises ``RuleRefused``.
    """
    last = newest_success(schedule)
    since = (last.finished_at if last else None) or schedule.created_at
    following = occurrences(schedule, since, PERIODS)
    return following[-1].at if len(following) == PERIODS else None


def is_stale(schedule: BackupSchedule, now: datetime) -> bool:
    """Whether its newest backup is older than two of its periods; one whose rule cannot be read always is."""
    try:
        moment = stale_at(schedule)
    except RuleRefused:
        return True
    return moment is not None and moment <= now


@duty("backups.freshness", cadence=Cadence.HOUR, deadline=timedelta(seconds=30))
def tell_stale() -> None:
    """Tell the officers of each enabled schedule that is stale, once until a run of it works again."""
    now = database_now(router.db_for_write(BackupSchedule))
    for schedule in BackupSchedule.objects.filter(enabled=True, target__enabled=True):
        if not is_stale(schedule, now):
            continue
        with transaction.atomic():
            notify(
                NAME,
                officers(START),
                cause=cause_of(schedule),
                subject=schedule,
                tenant=schedule.tenant,
            )
