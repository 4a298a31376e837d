"""What must hold after every fault: the one set of invariants. It may be asked while the load goes on.

check(hub, load, [tree], explained={"connection_lost"})
"""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from tests.faults.load import Load
from tests.support.hub import Hub
from tests.support.wait import until
from tests.support.workers import WorkerTree, zombies_of

OLD = "clock_timestamp() - interval '10 s'"


def check(
    hub: Hub,
    load: Load,
    trees: Sequence[WorkerTree],
    *,
    explained: Collection[str] = (),
    spent: Collection[str] = (),
    within: float = 90.0,
) -> None:
    """Wait until all that was committed before now is done, then see that nothing is out of place.

    ``explained`` are the codes of unspent failures that the fault accounts for, ``spent`` those of failures that
    may have cost an attempt. Each failure row is judged once per load. Raises ``AssertionError``.
    """
    processes_live(hub, trees, within=within)
    everything_ran(hub, load, within=within)
    nothing_is_stuck(hub, load, within=within)
    failures_are_explained(hub, load, explained, spent)
    fences_are_new(load)
    nobody_else_is_connected(hub, trees, within=within)
    if any(has_scheduler(tree) for tree in trees):
        somebody_leads(hub, within=within)


def everything_ran(hub: Hub, load: Load, *, within: float) -> None:
    """Each committed enqueue took effect, and nothing else did. An effect is a unique row: twice is an error row."""
    acknowledged = load.acknowledged()
    wanted = load.wanted()
    assert acknowledged <= wanted, f"acknowledged, and lost: {sorted(acknowledged - wanted)[:10]}"
    if load.running:
        load.keeps_enqueuing(within=within)

    def missing() -> set[str]:
        return wanted - {row["name"] for row in hub.rows("SELECT name FROM burden_effect")}

    until(lambda: not missing(), timeout=within, message="the work of every committed enqueue")
    stray = hub.rows("SELECT name FROM burden_effect EXCEPT SELECT name FROM burden_wanted")
    assert not stray, f"work of enqueues that were rolled back: {stray[:10]}"


def nothing_is_stuck(hub: Hub, load: Load, *, within: float) -> None:
    """What was due is done, nobody holds a job for longer than it can take, nothing was given up."""
    (row,) = hub.rows("SELECT hubqueue_now() AS now")

    def waiting() -> list[dict[str, Any]]:
        return hub.rows(
            "SELECT id, kind, state, run_at, claimed_at, attempts, suspect, error_code FROM hubqueue_job"
            " WHERE state IN ('READY', 'RUNNING') AND coalesce(claimed_at, run_at) <= %(now)s"
            " AND run_at <= %(now)s LIMIT 5",
            {"now": row["now"]},  # type: ignore[arg-type]
        )

    until(lambda: not waiting(), timeout=within, message="the end of every due job")
    if not load.running:
        until(
            lambda: not hub.rows("SELECT 1 FROM hubqueue_job WHERE state IN ('READY', 'RUNNING')"),
            timeout=within,
            message="the end of every job",
        )
    given_up = hub.rows(
        "SELECT id, kind, state, error_code FROM hubqueue_job WHERE state IN ('DEAD', 'PARKED', 'CANCELLED')"
    )
    assert not given_up, given_up[:5]


def failures_are_explained(
    hub: Hub, load: Load, explained: Collection[str], spent: Collection[str]
) -> None:
    """No failure without a cause, no attempt spent on what was not the handler's fault."""
    rows = hub.rows(
        "SELECT failure.id, job.kind, failure.attempt, failure.spent, failure.code, failure.exception,"
        " failure.sqlstate, failure.frames FROM hubqueue_failure AS failure"
        " JOIN hubqueue_job AS job ON job.id = failure.job_id WHERE failure.id > %s ORDER BY failure.id",
        [load.seen_failure],
    )
    load.seen_failure = max([load.seen_failure, *(row["id"] for row in rows)])
    unexplained = [
        row
        for row in rows
        if (row["kind"], row["code"], row["attempt"]) != ("burden.flaky", "asked", 1)
        and row["code"] not in (spent if row["spent"] else explained)
    ]
    assert not unexplained, f"{len(unexplained)} failures without a cause: {unexplained[:5]}"
    overspent = hub.rows(
        "SELECT id, kind, attempts FROM hubqueue_job AS job WHERE attempts > 1 + ("
        " SELECT count(*) FROM hubqueue_failure AS failure WHERE failure.job_id = job.id AND failure.spent)"
    )
    assert not overspent, f"attempts spent without a failure: {overspent[:5]}"


def fences_are_new(load: Load) -> None:
    """No attempt began under the fence of another one of its job, not even of one whose claim was lost.

    What a group rolled back runs once more in the same attempt, so there only another process tells.
    """
    runs = load.runs()
    runs = [run for run in runs if run[3] != "burden.grouped"] + [
        run for run in set(runs) if run[3] == "burden.grouped"
    ]
    times = Counter((job, fence) for job, fence, _, _ in runs)
    again = [run for run in runs if times[run[:2]] > 1]
    assert not again, f"fences issued twice: {again[:5]}"


def processes_live(hub: Hub, trees: Sequence[WorkerTree], *, within: float) -> None:
    """The supervisors are the ones that were started, their children are complete, registered, and no zombies."""

    def known() -> set[Any]:
        living = "SELECT id FROM hubqueue_worker WHERE lease_until >= hubqueue_now()"
        return {row["id"] for row in hub.rows(living)}

    def complete(tree: WorkerTree) -> bool:
        assert tree.alive, f"a supervisor ended:\n{tree.said()[-2000:]}"
        registered = known()
        regular = [child for child in tree.regular() if child.worker in registered]
        return len(regular) == asked(tree) and not zombies_of(tree.pid)

    for tree in trees:
        until(lambda tree=tree: complete(tree), timeout=within, message="a complete worker")  # type: ignore[misc]
    until(
        lambda: known() <= {child.worker for tree in trees for child in tree.children()},
        timeout=within,
        message="an end of the leases of workers that are gone",
    )


def nobody_else_is_connected(hub: Hub, trees: Sequence[WorkerTree], *, within: float) -> None:
    """No session of a process that is gone, no transaction that nobody ends, no wait that nobody ends."""

    def strangers() -> list[dict[str, Any]]:
        living = {f"hubqueue-{child.worker}" for tree in trees for child in tree.children()}
        sessions = hub.rows(
            "SELECT pid, application_name AS name, state, left(query, 60) AS query,"
            f" xact_start < {OLD} AND state <> 'active' OR query_start < {OLD} AND wait_event_type = 'Lock' AS stuck"
            " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND starts_with(application_name, 'hubqueue-')"
        )
        return [
            row
            for row in sessions
            if row["stuck"]
            or (
                not row["name"].startswith(("hubqueue-supervisor", "hubqueue-scheduler"))
                and row["name"] not in living
            )
        ]

    until(lambda: not strangers(), timeout=within, message="an end of sessions of the dead")
    (row,) = hub.rows(
        "SELECT count(*) FILTER (WHERE starts_with(application_name, 'hubqueue-supervisor')) AS supervisors,"
        " count(*) FILTER (WHERE starts_with(application_name, 'hubqueue-scheduler')) AS schedulers"
        " FROM pg_stat_activity WHERE datname = current_database()"
    )
    assert row["supervisors"] <= 3 * len(trees), row
    assert row["schedulers"] <= 3 * len(trees), row


def somebody_leads(hub: Hub, *, within: float) -> None:
    """One scheduler leads, and ticks."""
    (row,) = hub.rows("SELECT hubqueue_now() AS now")

    def ticked() -> bool:
        return bool(hub.rows("SELECT 1 FROM hubqueue_leader WHERE ticked_at > %s", [row["now"]]))

    until(ticked, timeout=within, message="a tick of a leader")
    leaders = hub.rows(
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        " AND pid IN (SELECT pid FROM pg_stat_activity WHERE starts_with(application_name, 'hubqueue-scheduler'))"
    )
    assert len(leaders) == 1, leaders


def asked(tree: WorkerTree) -> int:
    """How many regular children were asked for."""
    words = list(tree.popen.args)  # type: ignore[arg-type]
    return int(words[words.index("--processes") + 1]) if "--processes" in words else 1


def has_scheduler(tree: WorkerTree) -> bool:
    """Whether the worker was started with one."""
    return "--no-scheduler" not in list(tree.popen.args)  # type: ignore[arg-type]
