"""A load: processes that enqueue work of every shape without a pause, and a ledger of what they committed."""

import random
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from signal import SIGKILL, SIGTERM

from tests.faults.burden.tables import TABLES
from tests.support.hub import PATIENT, Hub
from tests.support.wait import until
from tests.support.workers import CHECKOUT, WorkerTree, send

SETTINGS = "tests.faults.settings"
# Short leases and rounds, so that what the queue does about a fault is over in seconds.
BRISK = {
    "LEASE": 4,
    "RENEW_EVERY": 1,
    "RESCUE_EVERY": 1,
    "TRANSACTIONAL_TIMEOUT": 3,
    "DETACHED_TIMEOUT": 6,
    "STATEMENT_DEADLINE": 3,
    "SETTLE_GRACE": 2,
    "TICK": 1,
}


def start_workers(
    hub: Hub,
    *arguments: str,
    processes: int = 2,
    threads: int = 4,
    seconds: Mapping[str, float] = BRISK,
    **env: str,
) -> WorkerTree:
    """A worker with its scheduler that knows the handlers of the load; not waited for."""
    words = ["--processes", str(processes), "--threads", str(threads), "--scheduler", *arguments]
    return hub.start(*words, seconds=seconds, DJANGO_SETTINGS_MODULE=SETTINGS, **env)


class Load:
    """Enqueuing on ``hub``'s database. One load per database; its tables are made at once.

    ``env`` may give the enqueuers another ``DATABASE_URL`` than the hub's. The seed decides what each enqueuer
    does, not when.
    """

    def __init__(
        self,
        hub: Hub,
        *,
        enqueuers: int = 2,
        pause: float = 0.1,
        seed: int | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.hub = hub
        self.seed = random.randrange(10**6) if seed is None else seed
        self._enqueuers = enqueuers
        self._pause = pause
        self._env = env or {}
        self._processes: list[subprocess.Popen[bytes]] = []
        self._started = 0
        self.seen_failure = 0  # the newest Failure row that a check has judged
        print(f"load seed {self.seed}")
        for statement in TABLES.split(";"):
            hub.rows(statement)

    def start(self) -> "Load":
        """Start the enqueuers; they go on until ``stop()``."""
        for _ in range(self._enqueuers):
            self._started += 1
            arguments = [
                f"e{self._started}",
                str(self.seed + self._started),
                str(self._pause),
            ]
            with (self.hub.home / "enqueuers.log").open("ab") as log:
                self._processes.append(
                    subprocess.Popen(
                        [sys.executable, "-m", "tests.faults.burden.enqueuer", *arguments],
                        cwd=CHECKOUT,
                        env={
                            **self.hub.env,
                            "DJANGO_SETTINGS_MODULE": SETTINGS,
                            "HUBQUEUE_TEST_SECONDS": "{}",
                            **self._env,
                        },
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
                )
        return self

    def stop(self) -> None:
        """End the enqueuers; one that does not end in time is killed, and its last transaction is in the ledger
        or not."""
        for process in self._processes:
            process.send_signal(SIGTERM)
        for process in self._processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                send(process.pid, SIGKILL)
                process.wait(timeout=20)
        self._processes.clear()

    def kill(self) -> None:
        """SIGKILL the enqueuers, in the middle of whatever they do."""
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.kill()
            process.wait(timeout=20)
        self._processes.clear()

    @property
    def running(self) -> bool:
        """Whether the enqueuers are at work. Raises when one of them ended by itself."""
        for process in self._processes:
            assert process.poll() is None, (self.hub.home / "enqueuers.log").read_text()
        return bool(self._processes)

    def acknowledged(self) -> set[str]:
        """The names whose COMMIT was answered."""
        numbers = range(1, self._started + 1)
        return {
            name for number in numbers for name in self.hub.lines(f"acknowledged-e{number}") if name
        }

    def refusals(self) -> list[str]:
        """What enqueuers were refused so far, as "class SQLSTATE"."""
        numbers = range(1, self._started + 1)
        return [line for number in numbers for line in self.hub.lines(f"refused-e{number}")]

    def runs(self) -> list[tuple[str, str, str, str]]:
        """Every run that a handler began, as (job, fence, pid, kind), whatever became of it."""
        return [tuple(line.split()) for line in self.hub.lines("runs")]  # type: ignore[misc]

    def wanted(self) -> set[str]:
        """The names that stand in the ledger: committed."""
        return {row["name"] for row in self.hub.rows("SELECT name FROM burden_wanted")}

    def done(self) -> int:
        """How many effects there are."""
        return int(self.hub.rows("SELECT count(*) AS count FROM burden_effect")[0]["count"])

    def goes_on(self, count: int = 20, *, within: float = PATIENT) -> None:
        """Wait for ``count`` more effects: work is being done."""
        goal = self.done() + count
        until(lambda: self.done() >= goal, timeout=within, message=f"{count} more effects")

    def keeps_enqueuing(self, count: int = 10, *, within: float = PATIENT) -> None:
        """Wait for ``count`` more names in the ledger: enqueuers are at work."""
        goal = len(self.wanted()) + count
        until(lambda: len(self.wanted()) >= goal, timeout=within, message=f"{count} more enqueued")
