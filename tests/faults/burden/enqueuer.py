"""``python -m tests.faults.burden.enqueuer NAME SEED PAUSE``: enqueue, as an application does, until SIGTERM.

Each step is one transaction: what is wanted, in the ledger, and the jobs that do it. What was committed for
certain is said in the file ``acknowledged-NAME``; a COMMIT whose answer was lost is in the ledger or not.
"""

import random
import signal
import sys
from threading import Event

import django


class RolledBack(Exception):
    """A step that the application itself gives up."""


class Steps:
    """The transactions of one enqueuer. Names are unique over all enqueuers and seeds of one load."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.dice = random.Random(seed)
        self.made = 0

    def step(self) -> list[str]:
        """One transaction; answers the names that are wanted now. Raises what the database does."""
        from django.db import transaction

        with transaction.atomic():
            names = self.dice.choices(
                [self.plain, self.grouped, self.detached, self.wake, self.flaky],
                weights=[40, 20, 15, 15, 10],
            )[0]()
            if self.dice.random() < 0.1:
                raise RolledBack
        return names

    def plain(self) -> list[str]:
        from tests.faults.burden.handlers import plain

        name = self.want()
        hold = self.dice.random() < 0.2
        tenant = self.dice.choice([None, "ada", "bob", "eve"])
        plain.using(tenant=tenant).enqueue(name=name, seconds=self.seconds(), hold=hold)
        return [name]

    def grouped(self) -> list[str]:
        from tests.faults.burden.handlers import grouped

        names = [self.want() for _ in range(self.dice.randint(2, 10))]
        grouped.enqueue_many([grouped.item(name=name) for name in names])
        return names

    def detached(self) -> list[str]:
        from tests.faults.burden.handlers import detached

        name = self.want()
        detached.enqueue(name=name, seconds=self.seconds())
        return [name]

    def wake(self) -> list[str]:
        from tests.faults.burden.handlers import wake

        key = f"key-{self.dice.randrange(4)}"
        name = self.want(key)
        wake.using(dedupe_key=key).enqueue(key=key, seconds=0.05, hold=key == "key-0")
        return [name]

    def flaky(self) -> list[str]:
        from tests.faults.burden.handlers import flaky

        name = self.want()
        flaky.enqueue(name=name)
        return [name]

    def want(self, key: str | None = None) -> str:
        from django.db import connection

        from tests.faults.burden.tables import WANT

        self.made += 1
        name = f"{self.name}-{self.made:06}"
        with connection.cursor() as cursor:
            cursor.execute(WANT, [name, key])
        return name

    def seconds(self) -> float:
        return self.dice.choice([0.0, 0.0, 0.05, 0.3])


def main() -> None:
    name, seed, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    django.setup()

    from django.db import Error, connection

    from tests.support.proof.gates import say

    steps = Steps(name, seed)
    while not stop.wait(pause):
        try:
            names = steps.step()
        except RolledBack:
            continue
        except Error as raised:
            say(f"refused-{name}", f"{type(raised).__name__} {sqlstate(raised)}")
            connection.close()
            stop.wait(0.2)
            continue
        say(f"acknowledged-{name}", "\n".join(names))


def sqlstate(raised: BaseException) -> str:
    return str(getattr(raised.__cause__, "sqlstate", None) or "")


if __name__ == "__main__":
    main()
