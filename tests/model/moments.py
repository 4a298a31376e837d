"""Moments that a model can only know within the two readings of the clock around a step."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any


@dataclass(frozen=True, slots=True)
class Span:
    """Some moment from ``earliest`` to ``latest``, both on the database's clock."""

    earliest: datetime
    latest: datetime

    def __add__(self, wait: timedelta) -> "Span":
        return Span(self.earliest + wait, self.latest + wait)

    def __contains__(self, moment: Any) -> bool:
        return isinstance(moment, datetime) and self.earliest <= moment <= self.latest


Moment = datetime | Span


def span(moment: Moment) -> Span:
    """A known moment is a span of no length."""
    return moment if isinstance(moment, Span) else Span(moment, moment)


def is_over(moment: Moment, now: Span) -> bool | None:
    """Whether ``moment`` has come; None when that depends on when exactly the statement ran."""
    if span(moment).latest <= now.earliest:
        return True
    return False if span(moment).earliest > now.latest else None


def earlier(one: Moment | None, other: Moment | None) -> Moment | None:
    """The earlier of two moments; None is never."""
    if one is None or other is None:
        return one if other is None else other
    if span(one).latest <= span(other).earliest:
        return one
    if span(other).latest <= span(one).earliest:
        return other
    return Span(
        min(span(one).earliest, span(other).earliest), min(span(one).latest, span(other).latest)
    )
