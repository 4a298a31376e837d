"""Mail through the queue beside mail sent one by one, each over a connection of its own, to the same server."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.commandline import Options
from bench.errors import Broken, Skipped
from bench.mail_server import PASSWORD, USER
from bench.registry import Figures, case
from bench.system import System
from tests.support.certificates import certify

MESSAGES = 1_000
SHOWN = "{ratio:.1f}x ({rate:,.0f} of {alone:,.0f}; bare and kept {kept:,.0f})"
UNSENT = "SELECT count(*) FROM notifications_notification WHERE state <> 'sent'"
LAST = "SELECT extract(epoch FROM max(finished_at)) FROM notifications_notification"


@case("mail", shown=SHOWN, ours=True)
def plain(system: System, options: Options) -> Figures:
    """mails/s of a worker of two processes over the same sent one by one, each over a connection of its own"""
    with _mail_server(system) as log:
        return _compared(system, options, log)


@case("mail-login", shown=SHOWN, ours=True)
def with_login(system: System, options: Options) -> Figures:
    """the same to a server that asks for STARTTLS and a login"""
    with _mail_server(system, login=True) as log:
        return _compared(system, options, log)


@case("mail-far", shown=SHOWN, ours=True)
def far(system: System, options: Options) -> Figures:
    """the same to one that is 10 ms away, too"""
    with _mail_server(system, login=True, seconds=0.01) as log:
        return _compared(system, options, log)


def _compared(system: System, options: Options, log: Path) -> Figures:
    count = options.jobs or MESSAGES
    _ask(system, "setup", count=count)
    system.reset()
    alone, kept = _bare(system, log, count, kept=False), _bare(system, log, count, kept=True)
    _ask(system, "record")
    system.start(2, options.concurrency)
    system.await_none(UNSENT, options.patience, "every message to be sent")
    row = system.db.execute(LAST).fetchone()
    assert row is not None
    rate = (count - 1) / (float(row[0]) - _moments(log, count)[0])
    return {"rate": rate, "alone": alone, "kept": kept, "ratio": rate / alone}


def _bare(system: System, log: Path, count: int, *, kept: bool) -> float:
    """Mails/s of one process without the queue, over a connection each or over one that is kept."""
    _ask(system, "one_by_one", kept=kept)
    moments = _moments(log, count)
    log.write_text("")
    return (count - 1) / (moments[-1] - moments[0])


def _moments(log: Path, count: int) -> list[float]:
    """When the server accepted each message, in order."""
    found = sorted(map(float, log.read_text().split()))
    if len(found) != count:
        raise Broken(f"the mail server took {len(found)} messages of {count}")
    return found


@contextmanager
def _mail_server(system: System, *, login: bool = False, seconds: float = 0.0) -> Iterator[Path]:
    """A mail server in a process of its own, and the app in the benchmark's project. Answers the server's log."""
    if system.name != "hubqueue":
        raise Skipped("means nothing for a peer")
    with TemporaryDirectory() as made:
        home = Path(made)
        certificates = [certify(home)] if login else []
        command = ["-m", "bench.mail_server", str(home / "log"), str(seconds)]
        server = subprocess.Popen(
            [sys.executable, *command, *map(str, certificates)],
            env=system.environment,
            stdout=subprocess.PIPE,
            stderr=system.said,
            text=True,
        )
        assert server.stdout is not None
        where = f"localhost:{server.stdout.readline().strip()}"
        added = {"BENCH_MAIL": f"smtp://{where}"}
        for certificate in certificates:
            added["BENCH_MAIL"] = f"smtp://{USER}:{PASSWORD}@{where}?tls=starttls"
            added["SSL_CERT_FILE"] = str(certificate.with_suffix(".crt"))
        system.environment |= added
        try:
            yield home / "log"
        finally:
            system.kill()
            server.kill()
            server.communicate()
            for name in added:
                del system.environment[name]


def _ask(system: System, operation: str, **given: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench.mail_agent", operation, json.dumps(given)],
        env=system.environment,
        stdout=subprocess.DEVNULL,
        stderr=system.said,
        check=False,
    )
    if done.returncode != 0:
        raise Broken(f"{operation} failed: see {system.said.name}")
