"""Kill the primary under load, again and again: ``python -m tests.faults.failover --help``."""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")

from config.embedded import account
from tests.faults.failover.install import install
from tests.faults.failover.load import Burdened
from tests.faults.failover.pair import Pair

LONGEST = 300.0


def main() -> int:
    """Play the rounds, print their figures, and answer 1 when a promise did not hold."""
    given = parse()
    home = given.home or Path(tempfile.mkdtemp(prefix="hubqueue-failover-", dir="/tmp"))
    home.mkdir(exist_ok=True)
    home.chmod(0o755)
    programs = install(home, account.server_account())
    place = Path(tempfile.mkdtemp(prefix="run-", dir=home))
    place.chmod(0o755)
    rounds: list[dict[str, float]] = []
    try:
        with Pair(place, programs, strict=not given.lenient) as pair:
            with Burdened(pair.url, place / "load") as queue:
                for number in range(given.rounds):
                    rounds.append(play(pair, queue, away=given.away))
                    print(f"round {number + 1}: {rounds[-1]}", flush=True)
                figures = queue.finish()
    except AssertionError as violated:
        print(f"failover: {violated} (everything is kept in {place})", file=sys.stderr)
        return 1
    print(f"held: {figures}")
    if given.json:
        given.json.write_text(json.dumps({"rounds": rounds, "figures": figures}, indent=2))
    if not given.keep:
        shutil.rmtree(place)
    if not given.home and not given.keep:
        shutil.rmtree(home)
    return 0


def play(pair: Pair, queue: Burdened, *, away: float) -> dict[str, float]:
    """One failover: the primary vanishes, the other takes over, the lost one comes back as replica."""
    queue.flows()
    acknowledged = len(queue.load.acknowledged())
    lost = pair.kill_primary()
    killed = time.monotonic()
    pair.wait_for_primary(lost)
    promoted = time.monotonic()
    settled = wait_for_a_settle(queue, promoted, until=promoted + away)
    time.sleep(
        max(0.0, promoted + away - time.monotonic())
    )  # how long it stays away is what is tried
    lost.start()
    settled = settled or wait_for_a_settle(queue, promoted, until=promoted + LONGEST)
    assert settled, f"no job was settled within {LONGEST:g} s of the promotion"
    pair.wait_in_sync()
    return {
        "acknowledged before": acknowledged,
        "new primary after": round(promoted - killed, 1),
        "first job settled after": round(settled - killed, 1),
        "both in step after": round(time.monotonic() - killed, 1),
    }


def wait_for_a_settle(queue: Burdened, since: float, *, until: float) -> float | None:
    """The moment when a job that was settled after ``since`` was there for all to see; None when it came to nothing."""
    while time.monotonic() < until:
        if queue.has_settled(since=since):
            return time.monotonic()
        time.sleep(0.05)
    return None


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.failover")
    parser.add_argument("--rounds", type=int, default=3, help="how many failovers (3)")
    parser.add_argument(
        "--away", type=float, default=5, help="seconds until the killed node is started again (5)"
    )
    parser.add_argument(
        "--lenient",
        action="store_true",
        help="synchronous_mode without strict: a lone primary goes on and does not wait",
    )
    parser.add_argument("--home", type=Path, help="keep the installed programs in this directory")
    parser.add_argument("--keep", action="store_true", help="keep logs and servers' files")
    parser.add_argument("--json", type=Path, help="write the figures there")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
