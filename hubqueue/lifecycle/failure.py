"""What is kept of a failed attempt: nothing that could quote a row."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePath
from traceback import walk_tb
from types import TracebackType
from uuid import UUID

import msgspec

from hubqueue.conf import conf
from hubqueue.lifecycle.database import connection
from hubqueue.lifecycle.guard import Claimed

KEPT_FAILURES = 20
KEPT_FRAMES = 30
CODE = re.compile(r"[A-Za-z0-9_.\-]{1,64}")


@dataclass(frozen=True, slots=True)
class Broken:
    """A failed attempt in codes and places. ``message`` is empty unless settings ask for it."""

    code: str
    exception: str = ""
    sqlstate: str = ""
    constraint: str = ""
    frames: list[dict[str, str | int]] = field(default_factory=list)
    message: str = ""


def broken_by(raised: BaseException) -> Broken:
    """Describe an exception safely. An exception may carry its own ``code``, a short word."""
    cause = _database_cause(raised)
    diagnostic = getattr(cause, "diag", None)
    sqlstate = code_word(getattr(cause, "sqlstate", None))[:5]
    return Broken(
        code=_own_code(raised) or ("database_error" if sqlstate else "exception"),
        exception=printable(f"{type(raised).__module__}.{type(raised).__qualname__}")[:200],
        sqlstate=sqlstate,
        constraint=(getattr(diagnostic, "constraint_name", None) or "")[:63],
        frames=_frames(raised.__traceback__),
        message=_message(raised) if conf().store_error_messages else "",
    )


def record_failure(
    claimed: Claimed,
    broken: Broken,
    *,
    spent: bool,
    failed_at: datetime,
    worker: UUID | None,
    using: str,
) -> None:
    """Insert the history row of one attempt, in the transaction of its move, and keep the newest 20."""
    with connection(using).cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO hubqueue_failure
                (job_id, attempt, spent, code, exception, sqlstate, "constraint", frames, message, worker,
                 started_at, failed_at)
            VALUES (%s, %s, %s, %s, %s, %s, %s, %s::jsonb, %s, %s, %s, %s)
            """,
            [
                claimed.id,
                claimed.attempts,
                spent,
                broken.code,
                broken.exception,
                broken.sqlstate,
                broken.constraint,
                msgspec.json.encode(broken.frames).decode(),
                broken.message,
                worker,
                claimed.claimed_at,
                failed_at,
            ],
        )
        cursor.execute(
            """
            DELETE FROM hubqueue_failure WHERE job_id = %s AND id <= (
                SELECT id FROM hubqueue_failure WHERE job_id = %s ORDER BY id DESC OFFSET %s LIMIT 1
            )
            """,
            [claimed.id, claimed.id, KEPT_FAILURES],
        )


def _own_code(raised: BaseException) -> str:
    try:
        return code_word(getattr(raised, "code", None))
    except Exception:
        return ""


def _database_cause(raised: BaseException) -> BaseException | None:
    """The driver's exception behind Django's, which is where SQLSTATE and constraint are."""
    seen: BaseException | None = raised
    for _ in range(5):
        if seen is None or getattr(seen, "sqlstate", None):
            return seen
        seen = seen.__cause__
    return None


def _frames(traceback: TracebackType | None) -> list[dict[str, str | int]]:
    places: list[dict[str, str | int]] = [
        {
            "file": printable("/".join(PurePath(frame.f_code.co_filename).parts[-4:])),
            "line": line,
            "function": printable(frame.f_code.co_name),
        }
        for frame, line in walk_tb(traceback)
    ]
    if len(places) <= KEPT_FRAMES:
        return places
    half = KEPT_FRAMES // 2
    left_out: dict[str, str | int] = {
        "file": f"({len(places) - 2 * half} frames left out)",
        "line": 0,
        "function": "",
    }
    return [*places[:half], left_out, *places[-half:]]


def _message(raised: BaseException) -> str:
    try:
        return printable(str(raised))[:500]
    except Exception:
        return "(no message: its __str__ raises)"


def printable(text: str) -> str:
    """``text`` as PostgreSQL can store it: NUL and lone surrogates escaped."""
    return text.replace("\x00", "\\0").encode(errors="backslashreplace").decode()


def brief(text: str, longest: int) -> str:
    """What a person typed, as PostgreSQL can store it, cut to ``longest`` characters."""
    return printable(text)[:longest]


def code_word(code: object) -> str:
    """``code`` if it is a short stable word, else the empty string."""
    return code if isinstance(code, str) and CODE.fullmatch(code) else ""
