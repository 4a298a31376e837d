"""What the machine, the server, psycopg and Django allow: the least that any such queue has to do."""

import sys

from bench.chorus import sing
from bench.commandline import Options
from bench.registry import Figures, case
from bench.system import System

MOST_SECONDS = 5.0
FILL = 400_000

# What each loop is called, how many processes, and the arguments of bench/loops.py: loop, threads, jobs a commit.
VARIANTS = {
    "server alone, 100 jobs a statement": (1, "server", 1, 100),
    "psycopg, 1 thread": (1, "bare", 1, 1),
    "psycopg, 4 threads": (1, "bare", 4, 1),
    "psycopg, 2 processes of 4 threads": (2, "bare", 4, 1),
    "psycopg, 1 thread, 100 jobs a commit": (1, "bare", 1, 100),
    "Django, 1 thread": (1, "atomic", 1, 1),
    "Django, 4 threads": (1, "atomic", 4, 1),
    "Django, 2 processes of 4 threads": (2, "atomic", 4, 1),
    "Django, 1 thread, 100 jobs a commit": (1, "atomic", 1, 100),
    "Django, 4 threads, on the queue's own table": (1, "own", 4, 1),
}


@case("floor", variants=VARIANTS)
def floor(system: System, options: Options, variant: tuple[int, str, int, int]) -> Figures:
    """jobs/s of bare loops that claim, insert the effect and complete: no queue at all"""
    processes, loop, threads, group = variant
    system.reset()
    system.db.execute(TABLE)
    if loop == "own":
        system.clone(min(options.rows, FILL), {"payload": "jsonb_build_object('number', g)"})
    else:
        system.db.execute(f"INSERT INTO floor_job (id) SELECT generate_series(1, {FILL})")
    system.db.execute("VACUUM (ANALYZE)")
    seconds = min(options.seconds, MOST_SECONDS)
    command = [sys.executable, "-m", "bench.loops", loop, str(threads), str(group), str(seconds)]
    sing(system, [command] * processes)
    done = system.db.execute(OWN_DONE if loop == "own" else DONE).fetchone()
    assert done is not None
    return {"rate": done[0] / float(done[1])}


TABLE = """
DROP TABLE IF EXISTS floor_job;
CREATE TABLE floor_job (id bigint PRIMARY KEY, state smallint NOT NULL DEFAULT 0, finished timestamptz);
CREATE INDEX ON floor_job (id) WHERE state = 0;
"""
# What is stored as finished counts, not what a loop says it did.
DONE = "SELECT count(*), extract(epoch FROM max(finished) - min(finished)) FROM floor_job WHERE state = 2"
OWN_DONE = """
SELECT count(*), extract(epoch FROM max(finished_at) - min(finished_at)) FROM hubqueue_job
WHERE state = 'SUCCEEDED'
"""
