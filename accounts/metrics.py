"""What the accounts app counts, for Prometheus. Labels are words of this code, never values."""

from typing import Any

from django.dispatch import receiver
from prometheus_client import Counter

from accounts.signals import asked, link_used, login_tried

ASKED = Counter("accounts_forgotten", "Calls for a forgotten password", ["outcome"])
LOGINS = Counter("accounts_logins", "Logins with a password", ["outcome"])
LINKS = Counter("accounts_links", "Uses of mailed links", ["purpose", "outcome"])


@receiver(asked, dispatch_uid="accounts.metrics.asked")
def count_asked(*, outcome: str, **_: Any) -> None:
    ASKED.labels(outcome).inc()


@receiver(login_tried, dispatch_uid="accounts.metrics.login_tried")
def count_login(*, outcome: str, **_: Any) -> None:
    LOGINS.labels(outcome).inc()


@receiver(link_used, dispatch_uid="accounts.metrics.link_used")
def count_link(*, purpose: str, outcome: str, **_: Any) -> None:
    LINKS.labels(purpose, outcome).inc()
