"""The queue that is soaked: a server of its own, a proxy before it, workers, enqueuers, and counters of what befell."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any, Self, TypeVar

import psycopg

from tests.faults.load import BRISK, Load
from tests.faults.soak.extra.tables import TABLES
from tests.support.hub import Hub
from tests.support.postgres import Cluster
from tests.support.proxy import Proxy
from tests.support.workers import WorkerTree

T = TypeVar("T")

SETTINGS = "tests.faults.soak.settings"
TREES = 2
MOST_CONNECTIONS = 120
PATIENT = 90.0


class Field:
    """with Field(home, seed) as field: ...; everything it started ends with the block."""

    def __init__(self, home: Path, seed: int) -> None:
        self.home = home
        self.dice = random.Random(seed)
        self.befell: Counter[str] = Counter()
        self.trees: list[WorkerTree] = []
        self._seed = seed
        self._crew = Lock()

    def __enter__(self) -> Self:
        self.postgres = Cluster(
            tcp=True, settings={"max_connections": str(MOST_CONNECTIONS)}
        ).__enter__()
        self.proxy = Proxy(self.postgres.port).__enter__()
        name = self.postgres.database
        far = f"postgres://{self.postgres.user}@127.0.0.1:{self.proxy.port}/{name}"
        self.hub = Hub(self.postgres.url(tcp=False), self.home)
        self.hub.env |= {"DJANGO_SETTINGS_MODULE": SETTINGS, "DATABASE_URL": far}
        self.hub.prepare()
        for statement in TABLES.split(";"):
            self.hub.rows(statement)
        self.load = Load(
            self.hub, seed=self._seed, pause=0.05, env={"DJANGO_SETTINGS_MODULE": SETTINGS}
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.load.kill()
        self.hub.close()
        self.proxy.__exit__(None, None, None)
        self.postgres.__exit__(None, None, None)

    def start(self) -> None:
        """Start workers and enqueuers, and wait until work is being done."""
        for _ in range(TREES):
            self.start_tree()
        for tree in self.trees:
            self.hub.registered(tree)
        self.load.start()
        self.load.goes_on()

    def start_tree(self) -> WorkerTree:
        """One more worker. Every other one recycles its children after some hundred jobs."""
        words = ["--processes", "2", "--threads", "4", "--grace", "10", "--scheduler"]
        if len(self.hub.trees) % 2:
            words += ["--max-jobs", "150"]
        tree = self.hub.start(*words, seconds=BRISK)
        with self._crew:
            self.trees.append(tree)
        return tree

    def replace(self, gone: WorkerTree) -> None:
        """Another worker for one that ended."""
        with self._crew:
            self.trees.remove(gone)
        self.start_tree()

    def count(self, what: str, times: int = 1) -> None:
        """Note that something befell."""
        self.befell[what] += times

    def session(self, **options: Any) -> "psycopg.Connection[Any]":
        """A session of our own on the server, past the proxy."""
        return psycopg.connect(self.postgres.url(tcp=False), autocommit=True, **options)


def insist(step: Callable[[], T], *, within: float = PATIENT) -> T:
    """Do what must be done although the database may be away just now."""
    horizon = monotonic() + within
    while True:
        try:
            return step()
        except (psycopg.Error, OSError):
            if monotonic() > horizon:
                raise
            sleep(0.2)
