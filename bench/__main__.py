"""`python -m bench CASE [arguments]` runs `bench/<case>.py` (dashes become underscores)."""

import importlib
import os
import sys
from pathlib import Path

NOT_CASES = {"__init__", "__main__", "throwaway"}


def cases() -> list[str]:
    """The names of the cases, as they are typed."""
    found = {path.stem for path in Path(__file__).parent.glob("*.py")} - NOT_CASES
    return sorted(name.replace("_", "-") for name in found if not name.startswith("_"))


def main() -> int:
    """Run one case; 2 when its name is unknown."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in cases():
        print(f"Expected one of {', '.join(cases())}, got {name!r}.", file=sys.stderr)
        return 2
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")
    return importlib.import_module(f"bench.{name.replace('-', '_')}").main(sys.argv[2:]) or 0


if __name__ == "__main__":
    sys.exit(main())
