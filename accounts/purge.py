"""What lives shortly is removed: addresses after a day, links a day after their end, what was told after months."""

from datetime import timedelta

from django.db.models import Model, QuerySet

from accounts.conf import conf
from accounts.models import (
    AddressChange,
    AddressRequest,
    Credential,
    FormerAddress,
    Guess,
    Tally,
    WayInChange,
)
from accounts.waits import FORGOTTEN_AFTER
from hubqueue.api import Cadence, duty
from hubqueue.querysets import Now
from notifications.conf import conf as notifications_conf

DAY = timedelta(days=1)
PAGE = 5000


@duty("accounts.purge", cadence=Cadence.HOUR)
def purge() -> None:
    """Remove what is past its time. Idempotent: an hour that was missed is made up for by the next."""
    for rows in _past_their_time():
        while _delete_page(rows) == PAGE:
            pass


def _past_their_time() -> list[QuerySet[Model]]:
    told = notifications_conf().retention
    return [
        AddressRequest.objects.filter(asked_at__lte=Now() - DAY),
        AddressChange.objects.filter(asked_at__lte=Now() - DAY),
        FormerAddress.objects.filter(left_at__lte=Now() - DAY),
        Credential.objects.filter(expires_at__lte=Now() - DAY),
        Tally.objects.filter(since__lte=Now() - conf().window),
        Guess.objects.filter(until__lte=Now() - FORGOTTEN_AFTER),
        WayInChange.objects.filter(at__lte=Now() - told),
    ]


def _delete_page(rows: QuerySet[Model]) -> int:
    page = rows.model._default_manager.filter(pk__in=rows.values("pk")[:PAGE])
    return page.delete()[0]
