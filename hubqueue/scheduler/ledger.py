"""What the leader writes down: that it leads, and when each duty ran and with what success."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hubqueue.lifecycle.database import connection


@dataclass(frozen=True, slots=True)
class Entry:
    """When a duty last ran and last succeeded."""

    ran_at: datetime
    succeeded_at: datetime | None


@dataclass(frozen=True, slots=True)
class Page:
    """What a tick goes by: the database's clock and the entry of each duty, by name."""

    now: datetime
    entries: dict[str, Entry]


def open_page(host: str, pid: int, *, new_term: bool, using: str) -> Page:
    """Sign as the leader and read what is known of the duties."""
    with connection(using).cursor() as cursor:
        cursor.execute(
            """
            WITH signed AS (
                INSERT INTO hubqueue_leader AS leader (id, host, pid, since, ticked_at)
                VALUES (1, %(host)s, %(pid)s, hubqueue_now(), hubqueue_now())
                ON CONFLICT (id) DO UPDATE SET
                    host = excluded.host, pid = excluded.pid, ticked_at = excluded.ticked_at,
                    since = CASE WHEN %(new_term)s THEN excluded.since ELSE leader.since END
                RETURNING ticked_at
            )
            SELECT ticked_at, name, ran_at, succeeded_at FROM signed LEFT JOIN hubqueue_duty ON true
            """,
            {"host": host[:255], "pid": pid, "new_term": new_term},
        )
        rows = cursor.fetchall()
    entries = {name: Entry(*moments) for _, name, *moments in rows if name is not None}
    return Page(rows[0][0], entries)


def begin(names: Sequence[str], now: datetime, *, using: str) -> None:
    """Write down that these duties start, so that one that ends the process is not the first thing tried next."""
    with connection(using).cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO hubqueue_duty (name, ran_at, error_code)
            SELECT name, %s, 'unfinished' FROM unnest(%s::text[]) AS given (name)
            ON CONFLICT (name) DO UPDATE SET
                ran_at = excluded.ran_at, error_code = excluded.error_code
            """,
            [now, list(names)],
        )


def record(outcomes: Sequence[tuple[str, str]], now: datetime, *, using: str) -> None:
    """Write down how duties ended, as (name, code); the code of success is empty."""
    with connection(using).cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO hubqueue_duty AS duty (name, ran_at, succeeded_at, error_code)
            SELECT name, %(now)s, CASE WHEN code = '' THEN %(now)s END, code
            FROM unnest(%(names)s::text[], %(codes)s::text[]) AS given (name, code)
            ON CONFLICT (name) DO UPDATE SET
                ran_at = excluded.ran_at,
                succeeded_at = coalesce(excluded.succeeded_at, duty.succeeded_at),
                error_code = excluded.error_code
            """,
            {
                "now": now,
                "names": [name for name, _ in outcomes],
                "codes": [code[:64] for _, code in outcomes],
            },
        )
