"""What is owed: of which tenants, and when next. One reading of the rows, for passes and for whoever seeds them."""

from datetime import datetime

from django.db.models import Min, QuerySet

from backups.models import BackupSchedule


def owing() -> QuerySet[BackupSchedule]:
    """Schedules that owe a moment. One that is disabled, or whose target is, or that is unreadable, owes nothing."""
    return BackupSchedule.objects.filter(
        next_run_at__isnull=False, enabled=True, unreadable=False, target__enabled=True
    )


def of(tenant: str | None) -> QuerySet[BackupSchedule]:
    """Those of a tenant; None: those of the whole installation."""
    return (
        owing().filter(tenant=tenant) if tenant is not None else owing().filter(tenant__isnull=True)
    )


def next_owed(tenant: str | None) -> datetime | None:
    """The earliest moment that schedules of this tenant owe, if any."""
    found: datetime | None = of(tenant).aggregate(at=Min("next_run_at"))["at"]
    return found
