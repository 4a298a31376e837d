"""The leads app's side of its cases: `python -m bench.leads_agent OPERATION JSON`, one operation a process.

The last line of its output is the answer. `BENCH_LEADS` puts the app into the benchmark's project.
"""

import json
import os
import statistics
import sys
import time
from typing import Any
from uuid import UUID

from bench.ready import await_signal

os.environ["DJANGO_SETTINGS_MODULE"] = "bench.project.settings"

import django

django.setup()

from django.apps import apps  # noqa: E402 - Django is set up by now
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402

from leads import generation, services  # noqa: E402
from leads.models import Event, LeadRequest  # noqa: E402

# Two registrations of an order come in one after the other, as they do.
FILL = """
INSERT INTO leads_registration (id, event_id, state, active, name, email, phone, company_name,
    partner_id, sale_order_id, created_at)
SELECT (lpad(to_hex(g / 1000), 12, '0') || '7' || lpad(to_hex(g %% 4096), 3, '0') || '8'
        || lpad(to_hex(g), 15, '0'))::uuid,
    %(event)s, 'open', true, 'Guest ' || g, 'guest' || g || '@example.org', '', 'Company ' || g %% 500,
    '', CASE WHEN %(orders)s THEN 'S' || g / 2 ELSE '' END, '2026-06-01T10:00:00Z'
FROM generate_series(1, %(count)s) AS g
"""
REQUESTS = """
WITH made AS (
    INSERT INTO leads_event (id, code, name, time_zone)
    SELECT gen_random_uuid(), 'E' || g, 'Event ' || g, 'UTC' FROM generate_series(1, %s) AS g
    RETURNING id
)
INSERT INTO leads_leadrequest (id, event_id, done) SELECT gen_random_uuid(), id, false FROM made
"""


class Steps:
    """A job that nobody stops."""

    id = UUID(int=0)

    def checkpoint(self) -> None: ...

    def progress(self, share: float) -> None: ...


def setup() -> None:
    """Tables, empty."""
    call_command("migrate", verbosity=0)
    tables = ", ".join(each._meta.db_table for each in apps.get_app_config("leads").get_models())
    _execute(f"TRUNCATE {tables} CASCADE")


def event(rule: bool = True) -> str:
    """An event, with a rule that takes everybody unless told otherwise. Answers its id."""
    made = Event.objects.create(code="BENCH", name="Night Trains", time_zone="Europe/Vienna")
    if rule:
        services.create_rule(name="everybody", on_create=True)
    return str(made.pk)


def register(event: str, seconds: float, slices: int) -> dict[str, float]:
    """Registrations one by one, each its own commit, together with others: see ``bench/chorus.py``.

    Slices of time in turn without and with the arming of leads, so that whatever else the machine does
    falls on both: registrations a second of each.
    """
    found = Event.objects.get(pk=event)
    arming = services._arm
    services.register(found, name="warm", phone="1")
    await_signal()
    sent, until = [0, 0], time.perf_counter()
    for number in range(2 * slices):
        until += seconds / (2 * slices)
        services._arm = arming if number % 2 else lambda *_: None
        while time.perf_counter() < until:
            services.register(found, name=f"Guest {number}", email="guest@example.org")
            sent[number % 2] += 1
    return {"unarmed": 2 * sent[0] / seconds, "armed": 2 * sent[1] / seconds}


def fill(event: str, count: int, orders: bool) -> None:
    """Registrations that nobody has looked at."""
    _execute(FILL, {"event": event, "count": count, "orders": orders})
    _execute("VACUUM (ANALYZE) leads_registration")


def arm(event: str) -> None:
    """Arm the event, as a person's registration does."""
    services.arm_event(Event.objects.get(pk=event))


def requests(count: int) -> None:
    """Open requests of events without registrations, and the wish to walk them."""
    _execute(REQUESTS, [count])
    _execute("VACUUM (ANALYZE) leads_leadrequest, leads_event")
    services.wake_after_commit()


def grow(event: str, count: int) -> dict[str, float]:
    """One new registration and a pass, again and again: the median milliseconds of a pass."""
    found = Event.objects.get(pk=event)
    took = []
    for number in range(count):
        services.register(found, name=f"New {number}", email="new@example.org")
        began = time.perf_counter()
        assert generation.run_pass(Steps()).summary.matched == 1
        took.append((time.perf_counter() - began) * 1000)
    return {"ms": statistics.median(took)}


def walk() -> dict[str, int]:
    """One pass in this process, with its counts."""
    summary = generation.run_pass(Steps()).summary.numbers()
    assert not LeadRequest.objects.filter(done=False).exists()
    _execute("VACUUM (ANALYZE) leads_leadprovenanceregistration, leads_registration")
    return summary


def _execute(statement: str, parameters: Any = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def main() -> None:
    operation, given = sys.argv[1:3]
    answer = globals()[operation](**json.loads(given))
    connection.close()
    print(f"\n{json.dumps(answer)}", flush=True)


if __name__ == "__main__":
    main()
