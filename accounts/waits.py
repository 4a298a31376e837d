"""How long one waits after wrong passwords: counted in the database, under keyed hashes, and longer each time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import connections, router
from django.db.models import F

from accounts.conf import conf
from accounts.hashes import CLIENT, PERSON, keyed, normalised
from accounts.models import Guess
from hubqueue.querysets import Now

FIRST = timedelta(seconds=30)
LONGEST = timedelta(minutes=15)
# Of all clients together: slow enough for guessing, and its owner is not kept out by what others do.
LONGEST_OF_ALL = timedelta(minutes=1)
FORGOTTEN_AFTER = timedelta(hours=1)

# A try counts before its password is looked at, so that many at once are as many. While it waits, nothing counts.
_COUNT = """
INSERT INTO accounts_guess AS guess (key, count, until)
VALUES (%(key)s, 1, hubqueue_now() + CASE WHEN 1 >= %(free)s THEN %(first)s::interval ELSE interval '0' END)
ON CONFLICT (key) DO UPDATE SET (count, until) = (
    SELECT number, hubqueue_now() + CASE WHEN number >= %(free)s
        THEN least(%(longest)s::interval, %(first)s::interval * power(2, least(number - %(free)s, 20)))
        ELSE interval '0' END
    FROM (
        SELECT CASE WHEN guess.until > hubqueue_now() - %(forgotten)s::interval
            THEN least(guess.count + 1, 1000000) ELSE 1 END
    ) AS next (number)
) WHERE guess.until <= hubqueue_now()
RETURNING count
"""


@dataclass(frozen=True, slots=True)
class Wait:
    """Of whom or what: after ``free`` wrong passwords a wait, doubled by each further one up to ``longest``.

    ``name`` is a word for metrics. ``one`` = it is of one account, so that the right password ends it.
    """

    name: str
    key: str
    free: int
    longest: timedelta
    one: bool = True


def waits_of(name: str, client: str) -> list[Wait]:
    """What a login under ``name``, which may be nobody's, has to pass, who asks before what for."""
    who = normalised(name)
    by_client = Wait(
        "client",
        keyed(CLIENT, f"login {client}"),
        conf().accounts_logins_per_client,
        LONGEST,
        one=False,
    )
    return [
        *([by_client] if client else []),
        Wait(
            "account and client",
            keyed(PERSON, f"login {client} {who}"),
            conf().accounts_logins_per_account,
            LONGEST,
        ),
        Wait(
            "account",
            keyed(PERSON, f"login {who}"),
            conf().accounts_logins_per_account * 20,
            LONGEST_OF_ALL,
        ),
    ]


def barred(waits: Sequence[Wait]) -> str:
    """Count a try for each, in their order; answers the name of the first that has to wait still, or nothing.

    A try that has to wait counts for nobody: its password is not looked at.
    """
    for number, each in enumerate(waits):
        if not _counted(each):
            _take_back(waits[:number])
            return each.name
    return ""


def forgive(waits: Sequence[Wait]) -> None:
    """The password was right: its account begins anew, and for the client it was no wrong one."""
    Guess.objects.filter(key__in=[each.key for each in waits if each.one]).delete()
    _take_back([each for each in waits if not each.one])


def _take_back(waits: Sequence[Wait]) -> None:
    found = Guess.objects.filter(key__in=[each.key for each in waits], count__gt=0)
    found.update(count=F("count") - 1, until=Now())


def _counted(wait: Wait) -> bool:
    with connections[router.db_for_write(Guess)].cursor() as cursor:
        cursor.execute(
            _COUNT,
            {
                "key": wait.key,
                "free": wait.free,
                "first": str(FIRST),
                "longest": str(wait.longest),
                "forgotten": str(FORGOTTEN_AFTER),
            },
        )
        return cursor.fetchone() is not None
