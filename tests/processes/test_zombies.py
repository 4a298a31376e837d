"""An attempt that lost its job while its processes stood still changes nothing when they go on."""

from collections.abc import Callable
from uuid import UUID

import pytest

from hubqueue import officers
from tests.support.hub import PATIENT, Hub
from tests.support.wait import until
from tests.support.workers import WorkerTree

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

KINDS = ("proof.gated", "proof.gated_detached")
GROUPED = "proof.gated_grouped"
# What the zombie does first of all when it goes on, by the name of its job.
DEEDS = {
    "succeeds": "write",
    "fails": "write fail",
    "retries": "write retry",
    "repeats": "write repeat",
    "dies": "write dead",
    "parks": "write park",
    "progresses": "progress write",
    "writes": "guarded",
}
# Nobody waits for these timeouts: they are long, so that no attempt ends by its own while the test goes on.
BRISK = {"LEASE": 121, "RENEW_EVERY": 1, "RESCUE_EVERY": 1, "TRANSACTIONAL_TIMEOUT": 120}
SHORT_LEASE = {"LEASE": 4, "RENEW_EVERY": 1, "RESCUE_EVERY": 1, "TRANSACTIONAL_TIMEOUT": 3}


def deeds_of(kind: str) -> list[str]:
    """A detached handler's writes count at once unless it makes them in ``job.transaction()``, as ``guarded`` does."""
    detached = kind == "proof.gated_detached"
    return [deed.replace("write", "") if detached else deed for deed in DEEDS.values()]


class Zombies:
    """A worker with one attempt in flight per deed and kind, frozen; its lease is taken to have passed."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.jobs: dict[str, UUID] = {}
        self.deeds: dict[str, str] = {}
        for kind in KINDS:
            names = [f"{kind.removeprefix('proof.')}-{deed}" for deed in DEEDS]
            ids = hub.put(kind, [{"name": name} for name in names])
            self.jobs |= dict(zip(names, ids, strict=True))
            self.deeds |= dict(zip(names, deeds_of(kind), strict=True))
        self.tree = hub.ready("--threads", str(len(self.jobs)), seconds=BRISK)
        self.fences = {name: hub.said(f"{name}-1")[2] for name in self.jobs}
        self.workers = [child.worker for child in self.tree.children()]
        self.stopped = self.tree.freeze()

    def lose_the_lease(self) -> None:
        """Nobody renews it; the moment has come."""
        self.hub.rows(
            "UPDATE hubqueue_worker SET lease_until = hubqueue_now() - interval '1 s'"
            " WHERE id = ANY (%s)",
            [self.workers],
        )

    def are_rescued(self) -> None:
        for job in self.jobs.values():
            self.hub.reaches(job, "READY")

    def thaw(self) -> None:
        self.tree.thaw(self.stopped)

    def act(self, name: str) -> None:
        """Let one zombie do its deed, and wait until it was refused."""
        refused = self.refusals()
        fence = self.fences[name]
        self.hub.let_go(fence, self.deeds[name])
        if "progress" in self.deeds[name]:
            self.pass_renewals(3)
            self.hub.say(f"told-{fence}")
        until(lambda: self.refusals() > refused, timeout=PATIENT, message=f"a refusal of {name}")

    def refusals(self) -> int:
        return self.tree.said().count('"event": "lease lost"')

    def pass_renewals(self, count: int) -> None:
        """Wait for so many renewals of the zombie's own worker."""
        for _ in range(count):
            before = self.lease()
            until(lambda before=before: self.lease() != before, timeout=PATIENT)  # type: ignore[misc]

    def lease(self) -> object:
        return self.hub.rows(
            "SELECT max(lease_until) FROM hubqueue_worker WHERE id = ANY (%s)", [self.workers]
        )


class GroupedZombies(Zombies):
    """The same with groups of two: the first of each has run, the last one is to do its deed.

    Nobody sees their sessions, as behind a pooler: what they have open stays open, and only the fence is between.
    """

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        names = [f"grouped-{number:02}" for number in range(2 * len(DEEDS))]
        ids = hub.put(GROUPED, [{"name": name} for name in names])
        self.jobs = dict(zip(names, ids, strict=True))
        self.tree = hub.ready("--threads", str(len(DEEDS)), seconds=BRISK)
        firsts = until(lambda: self._begun(len(DEEDS)), timeout=PATIENT, message="each first")
        for fence in firsts.values():
            hub.let_go(fence, "write")
        self.fences = until(
            lambda: self._begun(2 * len(DEEDS)), timeout=PATIENT, message="each last"
        )
        lasts = [name for name in names if name not in firsts]
        self.deeds = dict(zip(lasts, DEEDS.values(), strict=True))
        self.workers = [child.worker for child in self.tree.children()]
        self.stopped = self.tree.freeze()
        hub.rows(
            "UPDATE hubqueue_worker SET sessions_visible = false WHERE id = ANY (%s)",
            [self.workers],
        )

    def _begun(self, count: int) -> dict[str, str] | None:
        """Whose first attempt has begun, and its fence; once they are so many."""
        begun = {
            name: said[0].split()[2] for name in self.jobs if (said := self.hub.lines(f"{name}-1"))
        }
        return begun if len(begun) == count else None


def pause_all() -> None:
    for kind in [*KINDS, GROUPED]:
        officers.pause("kind", kind, actor="test", reason="nobody claims it again")


def other_worker(hub: Hub) -> WorkerTree:
    return hub.ready("--threads", "2", seconds=BRISK)


def rescued(hub: Hub, zombies: Zombies) -> None:
    pause_all()
    other_worker(hub)
    zombies.lose_the_lease()
    zombies.are_rescued()


def handed_back(hub: Hub, zombies: Zombies) -> None:
    """A second attempt was interrupted, under a newer fence, and the others never began theirs."""
    other = other_worker(hub)
    zombies.lose_the_lease()
    name, job = until(lambda: running_elsewhere(hub, zombies, zombies.jobs), timeout=PATIENT)
    hub.said_anew(name, {zombies.fences[name]})
    pause_all()
    assert other.interrupt() == 0
    zombies.are_rescued()
    assert hub.failures(job)[-1] == (1, False, "interrupted")


def parked(hub: Hub, zombies: Zombies) -> None:
    rescued(hub, zombies)
    for job in zombies.jobs.values():
        officers.park(job, actor="test", reason="set aside")


def cancelled(hub: Hub, zombies: Zombies) -> None:
    rescued(hub, zombies)
    for job in zombies.jobs.values():
        officers.cancel(job, actor="test", reason="not wanted")


def finished(hub: Hub, zombies: Zombies) -> None:
    """The second attempt, under a newer fence, has succeeded."""
    other_worker(hub)
    zombies.lose_the_lease()
    finish_elsewhere(hub, zombies)


def finish_elsewhere(
    hub: Hub, zombies: Zombies, meanwhile: Callable[[str], object] = lambda name: None
) -> None:
    """Suspects run one by one: take them as they come, and let each succeed."""
    left = dict(zombies.jobs)
    while left:
        name, job = until(lambda: running_elsewhere(hub, zombies, left), timeout=PATIENT)
        fence = str(hub.job(job)["fence"])
        hub.said_anew(name, {zombies.fences[name]})
        meanwhile(name)
        hub.let_go(fence, "write")
        row = hub.reaches(job, "SUCCEEDED")
        assert (row["attempts"], row["result"], row["progress"]) == (1, {"by": int(fence)}, None)
        assert f"{name} by {fence}" in hub.effects()
        del left[name]


def running_elsewhere(hub: Hub, zombies: Zombies, left: dict[str, UUID]) -> tuple[str, UUID] | None:
    for name, job in left.items():
        row = hub.job(job)
        if row["state"] == "RUNNING" and str(row["fence"]) != zombies.fences[name]:
            return name, job
    return None


@pytest.mark.parametrize("arrange", [rescued, handed_back, parked, cancelled, finished])
def test_a_zombie_changes_nothing_about_a_job_that_was(
    hub: Hub, arrange: Callable[[Hub, Zombies], None]
) -> None:
    zombies = Zombies(hub)
    arrange(hub, zombies)
    zombies.thaw()
    for name, job in zombies.jobs.items():
        before = hub.image(job)
        zombies.act(name)
        assert hub.image(job) == before


@pytest.mark.parametrize("arrange", [rescued, finished])
def test_a_group_of_zombies_changes_nothing_about_jobs_that_were(
    hub: Hub, arrange: Callable[[Hub, Zombies], None]
) -> None:
    zombies = GroupedZombies(hub)
    arrange(hub, zombies)
    zombies.thaw()
    before = {job: hub.image(job) for job in zombies.jobs.values()}
    for name in zombies.deeds:
        zombies.act(name)
        assert {job: hub.image(job) for job in zombies.jobs.values()} == before
    assert zombies.tree.interrupt() == 0
    assert {job: hub.image(job) for job in zombies.jobs.values()} == before


def test_a_zombie_changes_nothing_while_the_second_attempt_runs(hub: Hub) -> None:
    zombies = Zombies(hub)
    other_worker(hub)
    zombies.lose_the_lease()
    thawed: list[bool] = []

    def zombie_first(name: str) -> None:
        if not thawed:
            zombies.thaw()
            thawed.append(True)
        job = zombies.jobs[name]
        before = hub.image(job)
        zombies.act(name)
        assert hub.image(job) == before

    finish_elsewhere(hub, zombies, zombie_first)
    assert len(hub.effects()) == len(zombies.jobs)
    for job in zombies.jobs.values():
        assert hub.failures(job) == [(1, False, "worker_died")]


def test_a_worker_frozen_past_its_lease_is_taken_for_dead_and_learns_it(hub: Hub) -> None:
    (job,) = hub.put("proof.gated_detached", [{"name": "slow"}])
    frozen = hub.ready(seconds=SHORT_LEASE)
    first = hub.said("slow-1")
    stopped = frozen.freeze()
    hub.ready(seconds=SHORT_LEASE)
    second = hub.said_anew("slow", {first[2]})
    frozen.thaw(stopped)
    before = hub.image(job)
    # The frozen supervisor hears at its next renewal that the job is lost, and tells the handler.
    hub.let_go(first[2], "checkpoint")
    until(lambda: '"event": "lease lost"' in frozen.said(), timeout=PATIENT, message="a refusal")
    assert hub.image(job) == before
    hub.let_go(second[2], "write")
    row = hub.reaches(job, "SUCCEEDED")
    assert (row["attempts"], row["result"]) == (1, {"by": int(second[2])})
    assert frozen.alive
