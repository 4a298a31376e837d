"""When an attempt is followed by another: eight attempts over about a day, later where the endpoint asks."""

import random
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# The wait after each failed attempt but the last: 23 h 35 min 30 s in all.
WAITS = (
    timedelta(seconds=30),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=4),
    timedelta(hours=8),
    timedelta(hours=9),
)
ATTEMPTS = len(WAITS) + 1
# So many answers that say that the request itself is wrong.
MOST_REFUSALS = 3
LONGEST_ASKED = timedelta(hours=12)
JITTER = 0.1


def wait_after(attempt: int, asked: timedelta | None) -> timedelta | None:
    """The wait after failed attempt number ``attempt`` (from 1); None = it was the last.

    Never shorter than the rung or what the endpoint asked for, up to a tenth longer.
    """
    if attempt >= ATTEMPTS:
        return None
    wait = max(WAITS[attempt - 1], asked or timedelta(0))
    return wait * (1 + JITTER * random.random())


def asked_wait(retry_after: str, now: datetime) -> timedelta | None:
    """What ``Retry-After`` asks for: seconds or an HTTP date, at most ``LONGEST_ASKED``; None = nothing usable."""
    text = retry_after.strip()
    if re.fullmatch(r"[0-9]{1,10}", text, re.ASCII):
        wait = timedelta(seconds=int(text)) if len(text) < 10 else LONGEST_ASKED
    else:
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, TypeError, OverflowError):
            return None
        wait = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
    return min(max(wait, timedelta(0)), LONGEST_ASKED)
