"""``./dev soak MINUTES [--seed N]``: every fault at random on a queue at work, then the invariants."""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any


def main() -> int:
    """0 when every invariant held, 1 with the sentence of the one that did not."""
    given = parse(sys.argv[1:])
    seed = random.randrange(10**6) if given.seed is None else given.seed
    print(f"soak: seed {seed}", flush=True)
    home = Path(tempfile.mkdtemp(prefix="hubqueue-soak-"))
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.faults.soak.settings"
    os.environ["PROOF_DIR"] = str(home)
    from tests.faults.soak.books import Violated
    from tests.faults.soak.soak import soak

    def tell(found: dict[str, Any]) -> None:
        say(found)
        if given.json:
            given.json.write_text(json.dumps(found, indent=2) + "\n")

    try:
        soak(home, seed, given.minutes, tell=tell, plant=given.plant)
    except Violated as violated:
        print(f"soak: violated: {violated}", file=sys.stderr)
        print(
            f"soak: repeat it with ./dev soak {given.minutes:g} --seed {seed}; what was said is in {home}",
            file=sys.stderr,
        )
        return 1
    shutil.rmtree(home)
    return 0


def say(found: dict[str, Any]) -> None:
    print("soak: every invariant held")
    for name, value in found.items():
        shown = (
            ", ".join(f"{key} {count}" for key, count in value.items())
            if isinstance(value, dict)
            else value
        )
        print(f"  {name}: {shown or 'none'}")


def parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev soak",
        description="Break a queue at work in every way at random, and see what it kept.",
    )
    parser.add_argument(
        "minutes", type=float, metavar="MINUTES", help="how long; fractions will do"
    )
    parser.add_argument(
        "--seed", type=int, help="what is broken when, as an earlier run printed it"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    # A statement after the check and before another one, for the test that the check can fail.
    parser.add_argument("--plant", metavar="SQL", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if not 0 < given.minutes <= 10_000:
        parser.error(f"MINUTES: expected a number above 0, got {given.minutes:g}.")
    return given


if __name__ == "__main__":
    sys.exit(main())
