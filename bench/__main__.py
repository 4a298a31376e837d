"""`python -m bench CASE... [options]` measures the queue, `python -m bench admin-list` its pages."""

import importlib
import os
import sys
from pathlib import Path

# These have arguments of their own and need no worker, no peers and no repeats.
ALONE = ("admin-list", "redrive")


def alone() -> list[str]:
    """The measurements that are run by themselves, as they are typed."""
    here = Path(__file__).parent
    return [name for name in ALONE if (here / f"{name.replace('-', '_')}.py").exists()]


def main() -> int:
    """Run what was asked for; 2 when its name is unknown."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
    if name in alone():
        return importlib.import_module(f"bench.{name.replace('-', '_')}").main(sys.argv[2:]) or 0
    from bench.commandline import parse
    from bench.turns import measure

    return measure(parse(sys.argv[1:], alone()))


if __name__ == "__main__":
    sys.exit(main())
