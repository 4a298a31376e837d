"""The server has no room for some of what is written: nothing is lost or stuck, only a handler's own writes fail it.

A trigger refuses as PostgreSQL does when it cannot extend a file (SQLSTATE 53100).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.faults.site import Site
from tests.support.hub import PATIENT, Hub
from tests.support.wait import until

# Sequences stand outside transactions: they count what was refused.
REFUSE = """
CREATE SEQUENCE IF NOT EXISTS refused;
CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM nextval('refused');
    RAISE EXCEPTION 'could not extend file: no space left on device' USING ERRCODE = 'disk_full';
END
$$
"""
HANDED_BACK = {"no_room"}


@contextmanager
def full(hub: Hub, write: str, table: str, when: str = "true") -> Iterator[None]:
    """Meanwhile every such write that meets the condition is refused; leaves after so many refusals."""
    for statement in REFUSE.split(";\n", 1):
        hub.rows(statement)
    hub.rows(
        f"CREATE TRIGGER full_disk BEFORE {write} ON {table} FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION refuse()"
    )
    try:
        yield
    finally:
        hub.rows(f"DROP TRIGGER full_disk ON {table}")


def refused(hub: Hub, count: int = 20) -> None:
    """Wait for so many more refusals."""

    def number() -> int:
        (row,) = hub.rows("SELECT last_value FROM refused")
        return int(row["last_value"])

    goal = number() + count
    until(lambda: number() >= goal, timeout=PATIENT, message=f"{count} refusals")


def spent_codes(site: Site, seen: int) -> set[tuple[str, str]]:
    rows = site.hub.rows(
        "SELECT DISTINCT code, sqlstate FROM hubqueue_failure WHERE spent AND id > %s AND code <> 'asked'",
        [seen],
    )
    return {(row["code"], row["sqlstate"]) for row in rows}


@pytest.mark.parametrize(
    ("write", "when"),
    [
        ("UPDATE", "NEW.state = 'SUCCEEDED'"),
        ("UPDATE", "NEW.state <> 'RUNNING'"),
        ("UPDATE", "true"),
    ],
    ids=["successes", "every settle", "claims and settles"],
)
def test_no_room_for_the_end_of_an_attempt_spends_none(site: Site, write: str, when: str) -> None:
    pids = site.trees[0].lasting()
    with full(site.hub, write, "hubqueue_job", when):
        refused(site.hub)
    site.check(explained=HANDED_BACK)
    assert set(pids) <= set(
        site.trees[0].lasting()
    )  # a scheduler that was about to start may have come


def test_no_room_for_the_history_delays_the_end_of_failed_attempts(site: Site) -> None:
    with full(site.hub, "INSERT", "hubqueue_failure"):
        refused(site.hub)
        site.load.goes_on()
    site.check()


def test_no_room_for_new_jobs_is_the_enqueuers_to_know(site: Site) -> None:
    refusals = len(site.load.refusals())
    with full(site.hub, "INSERT", "hubqueue_job"):
        refused(site.hub)
        until(lambda: len(site.load.refusals()) > refusals, timeout=PATIENT, message="its word")
    site.check()


def test_no_room_for_a_handlers_own_write_is_its_failure(site: Site) -> None:
    seen = site.load.seen_failure
    with full(site.hub, "INSERT", "burden_effect"):
        refused(site.hub)
    site.check(spent={"database_error"})
    assert spent_codes(site, seen) == {("database_error", "53100")}


def test_no_room_for_the_leases_takes_no_job_from_the_living(site: Site) -> None:
    pids = site.trees[0].lasting()
    passed = "SELECT bool_and(lease_until < hubqueue_now() - interval '3 s') AS long_ago FROM hubqueue_worker"
    with full(site.hub, "INSERT OR UPDATE", "hubqueue_worker"):
        refused(site.hub, 5)
        until(
            lambda: site.hub.rows(passed)[0]["long_ago"], timeout=PATIENT, message="the leases' end"
        )
        site.load.goes_on()
    site.check()
    assert set(pids) <= set(site.trees[0].lasting())
