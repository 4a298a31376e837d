#!/usr/bin/env python
"""Run a management command of this project."""

import os
import sys


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.development")
    try:
        from config.commandline import run
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] != "django":
            raise
        sys.stderr.write(
            "Django is not installed for this Python: expected the project's environment, "
            f"given {sys.executable}; start through ./dev manage instead.\n"
        )
        return 1
    return run(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
