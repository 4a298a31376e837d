"""How often somebody may ask: counted in the database, under keyed hashes."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connections, router

from accounts.conf import conf
from accounts.hashes import ADDRESS, CLIENT, PERSON, address_key, keyed
from accounts.models import Tally

_COUNT = """
INSERT INTO accounts_tally AS tally (key, since, count) VALUES (%s, hubqueue_now(), 1)
ON CONFLICT (key) DO UPDATE SET
    count = CASE WHEN tally.since > hubqueue_now() - %s * interval '1 second'
        THEN least(tally.count + 1, 1000000) ELSE 1 END,
    since = CASE WHEN tally.since > hubqueue_now() - %s * interval '1 second'
        THEN tally.since ELSE hubqueue_now() END
RETURNING count
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most ``most`` times per window. ``name`` is a word for metrics; ``key`` says whose it is and tells nobody."""

    name: str
    key: str
    most: int


def per_address(address: str) -> Limit:
    return Limit("address", keyed(ADDRESS, address_key(address)), conf().accounts_asks_per_address)


def per_new_address(address: str) -> Limit:
    """Counted apart from forgotten passwords: whoever wishes for an address is not to keep its owner out."""
    return Limit(
        "new address",
        keyed(ADDRESS, f"new {address_key(address)}"),
        conf().accounts_asks_per_address,
    )


def per_client(client: str) -> Limit:
    return Limit("client", keyed(CLIENT, client), conf().accounts_asks_per_client)


def per_person(person_id: object) -> Limit:
    return Limit("person", keyed(PERSON, str(person_id)), conf().accounts_tries_per_person)


def per_guesser(person_id: object) -> Limit:
    """Of the current password, by whoever sits in front of an open session."""
    return Limit("guesser", keyed(PERSON, f"guess {person_id}"), conf().accounts_tries_per_person)


def passed(limits: Iterable[Limit]) -> str:
    """Count one more of each, in their order; answers the name of the first limit that is passed now, or nothing.

    Those after it are not counted: whoever is refused for their own sake uses up nothing of others. Callers name
    who asks before what for, so that no two of them wait for each other.
    """
    return next((each.name for each in limits if _counted(each) > each.most), "")


def _counted(limit: Limit) -> int:
    window = conf().window.total_seconds()
    with connections[router.db_for_write(Tally)].cursor() as cursor:
        cursor.execute(_COUNT, [limit.key, window, window])
        return int(cursor.fetchone()[0])
