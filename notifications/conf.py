"""The settings of the notifications app."""

from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import urlsplit

from hubqueue.appsettings import mistyped, reader
from notifications.errors import NotificationError
from notifications.mail_server import read_url
from notifications.sender import read_sender

# A mail is a handful of answers, and its job has five minutes: a worker that must be ended for it takes others along.
LONGEST_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Conf:
    """Each field is the Django setting of the name in upper case. Times are seconds unless named otherwise.

    Without ``notifications_mail_url`` and ``notifications_from`` mail waits until they are set.
    """

    notifications_retention_days: int = 90
    notifications_base_url: str = ""
    notifications_mail_url: str = field(default="", repr=False)
    notifications_from: str = ""
    notifications_mail_timeout: float = 30.0
    notifications_resend_uncertain: bool = True

    @property
    def retention(self) -> timedelta:
        return timedelta(days=self.notifications_retention_days)

    def problems(self) -> list[str]:
        """What cannot be used, one sentence each."""
        found = mistyped(self) or [*_unreadable(self)]
        if not found and not self.notifications_mail_timeout <= LONGEST_TIMEOUT:
            found.append(
                f"NOTIFICATIONS_MAIL_TIMEOUT must be at most {LONGEST_TIMEOUT:g} seconds"
                f" (environment: MAIL_TIMEOUT), got {self.notifications_mail_timeout:g}."
            )
        if not found and not is_absolute(self.notifications_base_url):
            found.append(
                "NOTIFICATIONS_BASE_URL must be the http(s) address at which people reach this installation, such as"
                " https://jobs.example.org (environment: BASE_URL),"
                f" got {self.notifications_base_url or 'nothing'!r}."
            )
        return found


def is_absolute(url: str) -> bool:
    """Whether links can be made of it: a scheme, a host, perhaps a port and a path, nothing more."""
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and not (parts.username or parts.query or parts.fragment)
            and url.isprintable()
            and " " not in url
        )
    except ValueError:
        return False


def _unreadable(conf: Conf) -> list[str]:
    found = []
    for name, read, given in (
        ("NOTIFICATIONS_MAIL_URL", read_url, conf.notifications_mail_url),
        ("NOTIFICATIONS_FROM", read_sender, conf.notifications_from),
    ):
        try:
            if given:
                read(given)
        except NotificationError as problem:
            found.append(f"{name}: {problem}")
    return found


conf = reader(Conf)
