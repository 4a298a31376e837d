"""What befalls the server and the way to it. Each puts everything back before it answers."""

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from time import sleep

import psycopg

from tests.faults.soak.field import Field, insist
from tests.support.link import When
from tests.support.proxy import COMMIT

Fault = Callable[[Field, random.Random], None]
STATEMENTS = (COMMIT, "hubqueue_claim", "hubqueue_settle", "hubqueue_hold", "burden_effect")


def cut_at_a_statement(field: Field, dice: random.Random) -> None:
    """Before the server hears of it, after it was done, or long after the client has gone."""
    when: When = dice.choice(["before", "after", "late", "lost"])
    before = field.proxy.sprung[when]
    field.proxy.cut_at(dice.choice(STATEMENTS), when, times=dice.randint(1, 20), spare=1)
    for _ in range(6):
        sleep(0.5)
        field.proxy.release()
    field.proxy.cut_at("no such statement", when, times=0)
    field.proxy.release()
    field.count(f"cut {when} a statement", field.proxy.sprung[when] - before)


def freeze(field: Field, dice: random.Random) -> None:
    field.proxy.freeze()
    sleep(dice.uniform(0.5, 9))
    field.proxy.thaw()
    field.count("froze the network")


def delay(field: Field, dice: random.Random) -> None:
    field.proxy.delay(dice.uniform(0.02, 0.2))
    sleep(dice.uniform(2, 6))
    field.proxy.delay(0)
    field.count("delayed the network")


def cut_all(field: Field, dice: random.Random) -> None:
    field.proxy.refuse()
    field.proxy.cut_all()
    sleep(dice.uniform(0, 6))
    field.proxy.refuse(False)
    field.count("cut the network")


def terminate_backends(field: Field, dice: random.Random) -> None:
    field.count("terminated backends", insist(field.postgres.terminate_backends))


def restart_fast(field: Field, dice: random.Random) -> None:
    field.postgres.stop("fast")
    sleep(dice.uniform(0, 4))
    field.postgres.start()
    field.count("restarted fast")


def restart_immediate(field: Field, dice: random.Random) -> None:
    field.postgres.restart("immediate")
    field.count("restarted immediate")


def exhaust_connections(field: Field, dice: random.Random) -> None:
    """Take all that are left; then those that stand are cut, and cannot come back."""
    with ExitStack() as taken:
        with suppress(psycopg.Error):
            while True:
                taken.enter_context(field.session())
        with suppress(psycopg.Error):
            field.proxy.cut_all()
            for _ in range(20):
                taken.enter_context(field.session())
        sleep(dice.uniform(2, 6))
    field.count("exhausted connections")


def read_only(field: Field, dice: random.Random) -> None:
    """As a server that was demoted: sessions stay, every write is refused."""
    with set_on_the_server(field, "default_transaction_read_only", "on"):
        sleep(dice.uniform(1, 5))
    field.count("read only")


def serializable(field: Field, dice: random.Random) -> None:
    with set_on_the_server(field, "default_transaction_isolation", "serializable"):
        insist(field.postgres.terminate_backends)
        sleep(dice.uniform(2, 6))
    insist(field.postgres.terminate_backends)
    field.count("serializable")


def statement_timeout(field: Field, dice: random.Random) -> None:
    with set_on_the_server(field, "statement_timeout", "1s"):
        insist(field.postgres.terminate_backends)
        sleep(dice.uniform(2, 6))
    insist(field.postgres.terminate_backends)
    field.count("statement timeout")


def idle_in_transaction(field: Field, dice: random.Random) -> None:
    with set_on_the_server(field, "idle_in_transaction_session_timeout", "200ms"):
        insist(field.postgres.terminate_backends)
        sleep(dice.uniform(2, 6))
    insist(field.postgres.terminate_backends)
    field.count("idle in transaction timeout")


def hold_a_snapshot(field: Field, dice: random.Random) -> None:
    with suppress(psycopg.Error), field.session() as session:
        session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        session.execute("SELECT count(*) FROM hubqueue_job")
        sleep(dice.uniform(3, 10))
    field.count("held a snapshot")


@contextmanager
def set_on_the_server(field: Field, name: str, value: str) -> Iterator[None]:
    """For the role of everybody; what stands is left as it is."""
    role = field.postgres.user
    insist(lambda: execute(field, f"ALTER ROLE {role} SET {name} = '{value}'"))
    if name == "default_transaction_read_only":
        insist(lambda: execute(field, f"ALTER SYSTEM SET {name} = '{value}'"))
        insist(lambda: execute(field, "SELECT pg_reload_conf()"))
    try:
        yield
    finally:
        insist(lambda: execute(field, f"ALTER ROLE {role} RESET {name}"))
        insist(lambda: execute(field, f"ALTER SYSTEM RESET {name}"))
        insist(lambda: execute(field, "SELECT pg_reload_conf()"))


def execute(field: Field, statement: str) -> None:
    with field.session() as session:
        session.execute("SET default_transaction_read_only = off")
        session.execute(statement.encode())


FAULTS: dict[Fault, int] = {
    cut_at_a_statement: 6,
    freeze: 3,
    delay: 2,
    cut_all: 2,
    terminate_backends: 3,
    restart_fast: 2,
    restart_immediate: 2,
    exhaust_connections: 2,
    read_only: 2,
    serializable: 1,
    statement_timeout: 1,
    idle_in_transaction: 1,
    hold_a_snapshot: 2,
}
