"""How often somebody may ask: counted in the database, under keyed hashes."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connections, router

from accounts.conf import conf
from accounts.hashes import ADDRESS, CLIENT, PERSON, address_key, keyed
from accounts.models import Tally

# Rows are taken in the order of their keys, so that two callers with the same two cannot deadlock.
_COUNT = """
INSERT INTO accounts_tally AS tally (key, since, count)
SELECT key, hubqueue_now(), 1 FROM unnest(%s::text[]) AS key ORDER BY key
ON CONFLICT (key) DO UPDATE SET
    count = CASE WHEN tally.since > hubqueue_now() - %s * interval '1 second'
        THEN least(tally.count + 1, 1000000) ELSE 1 END,
    since = CASE WHEN tally.since > hubqueue_now() - %s * interval '1 second'
        THEN tally.since ELSE hubqueue_now() END
RETURNING key, count
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most ``most`` times per window. ``name`` is a word for metrics; ``key`` says whose it is and tells nobody."""

    name: str
    key: str
    most: int


def per_address(address: str) -> Limit:
    return Limit("address", keyed(ADDRESS, address_key(address)), conf().accounts_asks_per_address)


def per_client(client: str) -> Limit:
    return Limit("client", keyed(CLIENT, client), conf().accounts_asks_per_client)


def per_person(person_id: object) -> Limit:
    return Limit("person", keyed(PERSON, str(person_id)), conf().accounts_tries_per_person)


def per_guesser(person_id: object) -> Limit:
    """Of the current password, by whoever sits in front of an open session."""
    return Limit("guesser", keyed(PERSON, f"guess {person_id}"), conf().accounts_tries_per_person)


def count(limits: Sequence[Limit]) -> list[str]:
    """Count one more of each, in one statement; answers the names of the limits that are passed now."""
    window = conf().window.total_seconds()
    with connections[router.db_for_write(Tally)].cursor() as cursor:
        cursor.execute(_COUNT, [[each.key for each in limits], window, window])
        counted = dict(cursor.fetchall())
    return [each.name for each in limits if counted[each.key] > each.most]
