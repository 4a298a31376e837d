"""``manage.py runworker``: the worker and, unless told otherwise, the scheduler."""

import socket
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from hubqueue.conf import conf
from hubqueue.registry import registry
from hubqueue.runner.health import serve
from hubqueue.runner.options import BadOptions, Options, check_start, parse_grace, parse_queues
from hubqueue.runner.sessions import name_sessions
from hubqueue.runner.supervisor import Supervisor


class Command(BaseCommand):
    help = "Run jobs: a supervisor, its worker children and the scheduler, until SIGTERM."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--processes", type=int, default=1, help="worker children (1)")
        parser.add_argument("--threads", type=int, default=4, help="jobs at once per child (4)")
        parser.add_argument(
            "--async-jobs",
            type=int,
            default=100,
            help="async def jobs at once per child, beside the threads (100)",
        )
        parser.add_argument(
            "--queues",
            default="",
            help="default,backups=1: queues to serve, with how many at once (all)",
        )
        parser.add_argument(
            "--no-scheduler", action="store_true", help="leave scheduling to others"
        )
        parser.add_argument(
            "--until-idle", action="store_true", help="end when nothing is due or running"
        )
        parser.add_argument(
            "--grace", type=float, default=30, help="seconds for jobs in flight at the end (30)"
        )
        parser.add_argument(
            "--max-jobs", type=int, default=0, help="replace a child after so many jobs"
        )
        parser.add_argument(
            "--max-memory", type=int, default=0, help="replace a child above so many MiB"
        )
        parser.add_argument(
            "--metrics-port", type=int, default=0, help="serve /metrics, /healthz, /readyz here"
        )
        parser.add_argument(
            "--metrics-host", default="127.0.0.1", help="on this address (127.0.0.1)"
        )

    def handle(self, *args: Any, **given: Any) -> None:
        try:
            options = Options(
                processes=given["processes"],
                threads=given["threads"],
                async_jobs=given["async_jobs"],
                caps=parse_queues(given["queues"], conf().queues),
                grace=parse_grace(given["grace"]),
                scheduler=not given["no_scheduler"] and not given["until_idle"],
                until_idle=given["until_idle"],
                max_jobs=given["max_jobs"],
                max_memory=given["max_memory"] * 2**20,
                metrics_port=given["metrics_port"],
            )
            check_start(options, conf(), registry)
            name_sessions(f"hubqueue-supervisor-{socket.gethostname()}"[:63])
            supervise(Supervisor(options), given["metrics_host"])
        except (BadOptions, ImproperlyConfigured) as refused:
            raise CommandError(str(refused)) from None


def supervise(supervisor: Supervisor, metrics_host: str) -> None:
    """Run to the end, with the worker's port open if it has one, and leave nothing behind."""
    endpoint = None
    try:
        if supervisor.options.metrics_port:
            endpoint = serve(supervisor, metrics_host)
        supervisor.run()
    finally:
        if endpoint is not None:
            endpoint.close()
        supervisor.spawner.close()
