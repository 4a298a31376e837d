"""What things cost: statements are bounded, and the walk of an event costs what is new in it."""

import tracemalloc

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leads import services
from leads.marks import read_clock
from leads.matching import matchers, page
from leads.models import Lead, LeadArm, LeadProvenance, LeadRequest, WalkMark
from tests.leads.made import (
    OutsideSink,
    Steps,
    make_event,
    make_registration,
    walk_all,
)

pytestmark = pytest.mark.django_db


def statements(work) -> int:
    with CaptureQueriesContext(connection) as captured:
        work()
    return len(captured)


def armed_events(count, **fields):
    events = [make_event() for _ in range(count)]
    for event in events:
        for _ in range(fields.get("people", 0)):
            make_registration(event)
        services.arm_event(event)
    return events


def test_registering_costs_one_statement_more_with_rules_than_without():
    event = make_event()
    without = statements(lambda: services.register(event, name="A", phone="1"))
    for number in range(20):
        services.create_rule(name=f"r{number}", on_create=True)
    services.register(event, name="A", phone="1")
    # A request to open or not, one rule or twenty: the arming is one and the same statement.
    assert statements(lambda: services.register(event, name="A", phone="1")) == without


def test_a_request_with_nothing_to_do_costs_a_bounded_number_of_statements():
    services.create_rule(name="r", on_create=True)

    def cost(count, people):
        armed_events(count, people=people)
        walk_all()
        LeadRequest.objects.update(done=False)
        return statements(walk_all)

    few, many = cost(2, 0), 0
    LeadRequest.objects.all().delete()
    many = cost(12, 30)
    per_request = (many - few) / 10
    assert per_request <= 6


def test_a_page_of_groups_costs_the_same_whether_it_holds_one_or_many():
    services.create_rule(name="r", on_create=True)

    def cost(orders):
        event = make_event()
        for number in range(orders):
            make_registration(event, sale_order_id=f"{event.code}-{number}")
        services.arm_event(event)
        return statements(walk_all)

    assert cost(1) == cost(40)


def test_a_walk_reads_what_changed_since_the_last_and_no_more(settings):
    """The rows behind the mark are not even looked at: the plan starts at it."""
    settings.EVENT_LEAD_BATCH = 50
    event = make_event()
    rule = services.create_rule(name="r", event=event, on_create=True)
    for _ in range(40):
        make_registration(event)
    services.arm_event(event)
    walk_all()
    mark = WalkMark.objects.get()
    (matcher,) = matchers(event, read_clock(event.pk))
    assert (matcher.rule_id, matcher.since) == (rule.pk, mark.seen_xid)


def test_memory_stays_flat_over_a_large_group(settings):
    settings.EVENT_LEAD_BATCH = 100
    event = make_event()
    services.create_rule(name="r", event=event, on_create=True)
    _many_registrations(event, 3000)
    services.arm_event(event)
    sizes = []

    def measure():
        sizes.append(tracemalloc.get_traced_memory()[0])

    tracemalloc.start()
    try:
        walk_all(job=Steps(measure))
    finally:
        tracemalloc.stop()
    assert len(sizes) > 30
    assert max(sizes[10:]) - min(sizes[10:]) < 2_000_000
    assert LeadProvenance.objects.get().members == Lead.objects.get().registrations == 3000


def test_a_large_group_is_not_read_again_for_every_page(settings):
    settings.EVENT_LEAD_BATCH = 10
    event = make_event()
    services.create_rule(name="r", event=event, on_create=True)
    _many_registrations(event, 100)
    services.arm_event(event)
    with CaptureQueriesContext(connection) as captured:
        walk_all()
    joined = [q for q in captured if "leads_leadprovenanceregistration" in q["sql"]]
    reads = [q for q in joined if q["sql"].startswith("SELECT") and "JOIN" in q["sql"]]
    assert reads == []


def test_arms_of_a_pass_are_found_by_hopping_from_event_to_event():
    busy, other = make_event(), make_event()
    LeadArm.objects.bulk_create(LeadArm(event=busy, trigger="created") for _ in range(5000))
    LeadArm.objects.create(event=other, trigger="created")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE leads_leadarm")
        cursor.execute(
            "EXPLAIN (COSTS OFF) SELECT arm.event_id FROM leads_leadarm AS arm"
            " WHERE arm.event_id > %s ORDER BY arm.event_id LIMIT 1",
            [busy.pk],
        )
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Index" in plan
    assert "Seq Scan" not in plan


def test_the_claim_reads_the_index_of_open_requests():
    events = [make_event() for _ in range(600)]
    LeadRequest.objects.bulk_create(
        LeadRequest(event=event, done=number > 5) for number, event in enumerate(events)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE leads_leadrequest")
        cursor.execute(
            "EXPLAIN (COSTS OFF) SELECT id FROM leads_leadrequest WHERE NOT done AND parked_at IS NULL"
            " AND (next_attempt_at IS NULL OR next_attempt_at <= hubqueue_now())"
            " ORDER BY attempted_at ASC NULLS FIRST, created_at, id LIMIT 1"
        )
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "leads_leadrequest_open" in plan
    assert "Sort" not in plan


@pytest.mark.slow
def test_the_anti_join_is_an_index_plan_at_a_million_rows_of_provenance():
    event = make_event()
    rule = services.create_rule(name="r", event=event, on_create=True)
    _many_registrations(event, 1_000_000)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO leads_leadprovenance (rule_id, grouping, group_key, lead_id)"
            " VALUES (%s, 'per_event_day', 'day', '1') RETURNING id",
            [rule.pk],
        )
        (provenance_id,) = cursor.fetchone()
        cursor.execute(
            "INSERT INTO leads_leadprovenanceregistration (provenance_id, registration_id, rule_id)"
            " SELECT %s, id, %s FROM leads_registration WHERE event_id = %s",
            [provenance_id, rule.pk, event.pk],
        )
        for table in ("registration", "leadprovenanceregistration", "leadprovenance"):
            cursor.execute(f"ANALYZE leads_{table}")
    late = [make_registration(event).pk for _ in range(3)]
    (matcher,) = matchers(event, read_clock(event.pk))
    with CaptureQueriesContext(connection) as captured:
        assert {member.id for member in page(event.pk, matcher, after=None, limit=200)} == set(late)
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (COSTS OFF) " + captured[0]["sql"])
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "leads_membership_once_per_rule" in plan
    assert "leads_registration_walk" in plan
    assert "Seq Scan" not in plan
    assert "Hash" not in plan


def test_an_outside_sink_costs_a_bounded_number_of_statements_per_group():
    services.create_rule(name="r", on_create=True)

    def cost(orders):
        event = make_event()
        for number in range(orders):
            make_registration(event, sale_order_id=f"{event.code}-{number}")
        services.arm_event(event)
        return statements(lambda: walk_all(OutsideSink()))

    assert (cost(21) - cost(1)) / 20 <= 9


def _many_registrations(event, count):
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO leads_registration (id, event_id, state, active, name, email, phone,"
            " company_name, partner_id, sale_order_id, created_at)"
            " SELECT lpad(to_hex(g), 32, '0')::uuid, %s, 'open', true, 'N ' || g, '', '1', '', '', '',"
            " '2026-05-05T10:00:00Z' FROM generate_series(1, %s) AS g",
            [event.pk, count],
        )
