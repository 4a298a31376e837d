"""How the worker is: ages of its loops, of the renewal, of LISTEN and of the tick; and its metrics."""

from time import monotonic

from hubqueue.conf import conf
from hubqueue.runner.endpoint import Answer, Endpoint, as_json
from hubqueue.runner.exposition import exposition
from hubqueue.runner.options import BadOptions
from hubqueue.runner.supervisor import SILENT_AFTER, Supervisor


def serve(supervisor: Supervisor, host: str) -> Endpoint:
    """Open the worker's port. Raises ``BadOptions`` when it cannot be had."""
    port = supervisor.options.metrics_port
    try:
        return Endpoint(
            host,
            port,
            {
                "/healthz": lambda: healthz(supervisor),
                "/readyz": lambda: readyz(supervisor),
                "/metrics": lambda: metrics(supervisor),
            },
        )
    except OSError as problem:
        raise BadOptions(
            f"--metrics-port: expected a free port, got {host}:{port} ({problem.strerror}); choose another."
        ) from None


def ages(supervisor: Supervisor) -> dict[str, object]:
    """Seconds since each part was last seen well; None = it is not there."""
    now = monotonic()
    children = list(supervisor.crew.children)
    ticked = supervisor.ticked_at
    return {
        "supervisor": round(now - supervisor.looked_at, 1),
        "loop": round(max((now - child.heard_at for child in children), default=0.0), 1),
        "renewal": round(supervisor.heartbeat.age, 1),
        "rescue": round(supervisor.sweeps.age, 1),
        "listen": max(
            (child.listen_age for child in children if child.listen_age is not None), default=None
        ),
        "tick": None if ticked is None else round(now - ticked, 1),
        "children": len(children),
        "leading": supervisor.leading,
    }


def healthz(supervisor: Supervisor) -> Answer:
    """Whether this process should live: its own loop turns."""
    well = monotonic() - supervisor.looked_at < SILENT_AFTER
    return as_json(200 if well else 503, ages(supervisor))


def readyz(supervisor: Supervisor) -> Answer:
    """Whether work gets done: leases are renewed, children answer, the scheduler ticks."""
    now = monotonic()
    problems = []
    if supervisor.draining:
        problems.append("draining")
    if supervisor.heartbeat.age > conf().renew_every.total_seconds() * 2 + 1:
        problems.append("leases are not renewed")
    if supervisor.sweeps.age > _longest_sweep():
        problems.append("jobs are not looked at")
    if not any(child.registered for child in supervisor.crew.children):
        problems.append("no child is registered")
    if any(now - child.heard_at > 30 for child in supervisor.crew.children):
        problems.append("a child is silent")
    if supervisor.options.scheduler:
        ticked = supervisor.ticked_at
        if ticked is None or now - ticked > conf().tick.total_seconds() * 3:
            problems.append("the scheduler does not tick")
    return as_json(503 if problems else 200, {**ages(supervisor), "problems": problems})


def _longest_sweep() -> float:
    """Seconds without a look for workers that are gone: it meets what a claim meets, and one may fail."""
    return (conf().rescue_every * 2 + conf().statement_deadline).total_seconds() + 1


def metrics(supervisor: Supervisor) -> Answer:
    """The children's metrics and our own, in the Prometheus text format."""
    kind, body = exposition(supervisor.spawner.metrics_dir)
    return 200, kind, body
