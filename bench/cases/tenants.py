"""What turns over many tenants cost, and whether they are turns."""

from bench.cases.beside import SHOWN, start_rate
from bench.commandline import Options
from bench.registry import Figures, case
from bench.system import System

TENANTS = 5_000
CROWD = 100_000
LATE = 5


@case("tenants-many", shown=SHOWN, ours=True)
def many(system: System, options: Options) -> Figures:
    """jobs/s of 5,000 tenants with one job each, relative to jobs of nobody"""
    return _relative(system, options, "'tenant-' || g")


@case("tenants-one", shown=SHOWN, ours=True)
def one(system: System, options: Options) -> Figures:
    """the same of one tenant with all of them"""
    return _relative(system, options, "'tenant'")


@case("tenants-turn", shown="{preloaded:.0f} / {late:.0f} rounds", ours=True)
def turn(system: System, options: Options) -> Figures:
    """claim rounds until a tenant with one job starts behind another's 100,000: there from the start / come late"""
    crowd = min(options.rows, CROWD)
    system.reset()
    system.clone(crowd, {"tenant_id": "'crowd'"})
    system.clone(1, {"tenant_id": "'preloaded'"})
    system.clone(LATE, {"tenant_id": "'late-' || g", "run_at": "now() + interval '1 day'"})
    system.analyze()
    system.start(1, options.concurrency)
    system.await_starts(100, options.patience)
    system.db.execute(
        "UPDATE hubqueue_job SET run_at = now() + right(tenant_id, 1)::int * interval '200 milliseconds'"
        " WHERE tenant_id LIKE 'late-%'"
    )
    system.await_none(WAITING, options.patience, "the start of every lonely job")
    rounds = system.db.execute(ROUNDS).fetchall()
    system.kill()
    late = [count for tenant, count in rounds if tenant != "preloaded"]
    return {"preloaded": dict(rounds)["preloaded"], "late": max(late)}


# All that one claim gives has one claimed_at. A round counts when it began after the job was due.
ROUNDS = """
SELECT lonely.tenant_id, count(DISTINCT other.claimed_at)
FROM hubqueue_job AS lonely, hubqueue_job AS other
WHERE lonely.tenant_id <> 'crowd' AND other.claimed_at BETWEEN lonely.run_at AND lonely.claimed_at
GROUP BY lonely.tenant_id
"""
WAITING = "SELECT count(*) FROM hubqueue_job WHERE tenant_id <> 'crowd' AND claimed_at IS NULL"


def _relative(system: System, options: Options, tenant: str) -> Figures:
    count = options.jobs or TENANTS

    def enqueue(columns: dict[str, str]) -> float:
        return start_rate(system, options, count, lambda: system.clone(count, columns))

    alone, rate = enqueue({}), enqueue({"tenant_id": tenant})
    return {"rate": rate, "alone": alone, "ratio": rate / alone}
