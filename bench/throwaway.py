"""A database of its own for one measurement, on the server of `DATABASE_URL` or the embedded one."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def database(name: str) -> Iterator[None]:
    """Django set up on an empty, migrated database that is dropped at the end."""
    import django
    from django.conf import settings

    settings.DATABASES["default"]["TEST"] = {"NAME": f"hubqueue_bench_{name}"}
    django.setup()
    from django.db import connection

    before = connection.settings_dict["NAME"]
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    try:
        yield
    finally:
        connection.creation.destroy_test_db(before, verbosity=0)


def measured(run: Callable[[], Any], rounds: int = 3) -> tuple[float, float, Any]:
    """Milliseconds of the first and of the best round, and what the last one returned."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        answer = run()
        times.append((time.perf_counter() - started) * 1000)
    return times[0], min(times), answer
