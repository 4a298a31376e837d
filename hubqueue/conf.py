"""The settings of hubqueue: ``settings.HUBQUEUE``, read once into one frozen, validated object."""

from dataclasses import dataclass, field, fields
from datetime import timedelta
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def _seconds(value: float) -> timedelta:
    return timedelta(seconds=value)


@dataclass(frozen=True, slots=True)
class Conf:
    """Every setting with its default. Keys of ``settings.HUBQUEUE`` are the upper-case field names.

    Durations are ``timedelta``; sizes are bytes of JSON as stored.
    """

    queues: tuple[str, ...] = ("default",)
    lease: timedelta = field(default=_seconds(30))
    renew_every: timedelta = field(default=_seconds(5))
    rescue_every: timedelta = field(default=_seconds(3))
    transactional_timeout: timedelta = field(default=_seconds(20))
    detached_timeout: timedelta = field(default=timedelta(hours=1))
    settle_grace: timedelta = field(default=_seconds(5))
    statement_deadline: timedelta = field(default=_seconds(10))
    poll_every: timedelta = field(default=_seconds(5))
    poll_without_listen: timedelta = field(default=_seconds(1))
    bell_quiet: timedelta = field(default=timedelta(milliseconds=20))
    tick: timedelta = field(default=_seconds(5))
    async_connections: int = 4
    payload_limit: int = 256 * 1024
    result_limit: int = 16 * 1024
    keep_finished: timedelta = field(default=timedelta(days=30))
    keep_dead: timedelta = field(default=timedelta(days=90))
    keep_failures: timedelta = field(default=timedelta(days=30))
    direct_url: str | None = None
    store_error_messages: bool = False

    def problems(self) -> list[tuple[str, str]]:
        """What contradicts what, as (check id, sentence). Empty when all is well."""
        found: list[tuple[str, str]] = []
        if self.renew_every * 3 > self.lease:
            found.append(
                (
                    "hubqueue.E001",
                    f"RENEW_EVERY must be at most a third of LEASE ({self.lease.total_seconds():g} s),"
                    f" got {self.renew_every.total_seconds():g} s: lower it or lengthen LEASE.",
                )
            )
        if self.transactional_timeout >= self.lease:
            found.append(
                (
                    "hubqueue.E002",
                    f"TRANSACTIONAL_TIMEOUT must be below LEASE ({self.lease.total_seconds():g} s),"
                    f" got {self.transactional_timeout.total_seconds():g} s.",
                )
            )
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, timedelta) and value <= timedelta(0):
                found.append(
                    (
                        "hubqueue.E003",
                        f"{each.name.upper()} must be longer than nothing, got {value}.",
                    )
                )
            if each.type is int and value <= 0:
                found.append(
                    ("hubqueue.E003", f"{each.name.upper()} must be above 0, got {value}.")
                )
        if self.async_connections == 1:
            found.append(
                (
                    "hubqueue.E007",
                    "ASYNC_CONNECTIONS must be at least 2, got 1: all but one may be taken by transactions that"
                    " async handlers hold over awaits.",
                )
            )
        found.extend(_queue_problems(self.queues))
        return found


def _queue_problems(queues: tuple[str, ...]) -> list[tuple[str, str]]:
    found = []
    if not queues:
        found.append(("hubqueue.E004", "QUEUES must name at least one queue, got none."))
    found.extend(
        (
            "hubqueue.E004",
            f"QUEUES takes names of up to 48 letters, digits, - and _, got {name!r}.",
        )
        for name in queues
        if not name or len(name) > 48 or not name.replace("_", "").replace("-", "").isalnum()
    )
    return found


def read(given: dict[str, Any], *, store_error_messages: bool = False) -> Conf:
    """Build the settings from a ``HUBQUEUE`` dictionary. Unknown keys and wrong types are refused."""
    known = {each.name.upper(): each for each in fields(Conf)}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ImproperlyConfigured(
            f"HUBQUEUE: unknown setting {', '.join(unknown)}; known are {', '.join(sorted(known))}."
        )
    values: dict[str, Any] = {}
    for key, value in given.items():
        default = known[key].default
        if isinstance(default, timedelta) and not isinstance(value, timedelta):
            raise ImproperlyConfigured(
                f"HUBQUEUE[{key!r}]: expected a timedelta, got {type(value).__name__}."
            )
        if known[key].type is int and (not isinstance(value, int) or isinstance(value, bool)):
            raise ImproperlyConfigured(
                f"HUBQUEUE[{key!r}]: expected a whole number, got {type(value).__name__}."
            )
        values[key.lower()] = tuple(value) if key == "QUEUES" else value
    values.setdefault("store_error_messages", store_error_messages)
    return Conf(**values)


@lru_cache(maxsize=1)
def conf() -> Conf:
    """The settings of this process."""
    return read(
        getattr(settings, "HUBQUEUE", {}),
        store_error_messages=bool(getattr(settings, "HUBQUEUE_STORE_ERROR_MESSAGES", False)),
    )
