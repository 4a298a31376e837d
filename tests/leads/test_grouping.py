"""Groups: per order, or per day of the event's own calendar, over midnight and the nights of DST."""

from datetime import UTC, datetime

import pytest

from leads import services
from leads.models import Lead, LeadProvenance
from tests.leads.made import OutsideSink, make_event, make_registration, walk_all, walk_until_done

pytestmark = pytest.mark.django_db


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def days(event) -> dict[str, int]:
    rows = LeadProvenance.objects.filter(grouping="per_event_day", group_key__contains=event.pk)
    return {row.group_key[-10:]: row.members for row in rows}


@pytest.mark.parametrize(
    ("zone", "moments", "expected"),
    [
        ("Asia/Tokyo", ["2026-05-05T14:59:59", "2026-05-05T15:00:00"], {"2026-05-05": 1, "2026-05-06": 1}),
        ("America/Bogota", ["2026-05-05T04:59:59", "2026-05-05T05:00:00"], {"2026-05-04": 1, "2026-05-05": 1}),
        # The night the clocks go back has 25 hours, the one they go forward 23.
        ("Europe/Berlin", ["2026-10-24T22:00:00", "2026-10-25T22:59:59", "2026-10-25T23:00:00"], {"2026-10-25": 2, "2026-10-26": 1}),  # noqa: E501
        ("Europe/Berlin", ["2026-03-28T23:00:00", "2026-03-29T21:59:59", "2026-03-29T22:00:00"], {"2026-03-29": 2, "2026-03-30": 1}),  # noqa: E501
        # Where midnight itself is skipped, and where the clocks move by half an hour.
        ("Africa/Cairo", ["2026-04-23T21:59:59", "2026-04-23T22:00:00"], {"2026-04-23": 1, "2026-04-24": 1}),
        ("Australia/Lord_Howe", ["2026-04-04T12:59:59", "2026-04-04T13:00:00", "2026-04-05T13:29:59", "2026-04-05T13:30:00"], {"2026-04-04": 1, "2026-04-05": 2, "2026-04-06": 1}),  # noqa: E501
    ],
)  # fmt: skip
def test_a_day_is_the_events_own(zone, moments, expected):
    event = make_event(time_zone=zone)
    for moment in moments:
        make_registration(event, created_at=at(moment))
    services.create_rule(name="r", on_create=True)
    walk_until_done()
    assert days(event) == expected


def test_an_order_is_one_group_across_days_and_events_of_a_tenant():
    first, second = make_event(), make_event()
    make_registration(first, sale_order_id="S1", created_at=at("2026-01-01T00:00:00"))
    make_registration(first, sale_order_id="S1", created_at=at("2026-02-01T00:00:00"))
    make_registration(second, sale_order_id="S1")
    make_registration(second, sale_order_id="S2")
    foreign = make_event(tenant_id="t1")
    make_registration(foreign, sale_order_id="S1")
    services.create_rule(name="r", on_create=True)
    walk_until_done()
    groups = LeadProvenance.objects.order_by("group_key").values_list("group_key", "members")
    assert list(groups) == [("order:S1", 3), ("order:S2", 1), ("order:t1:S1", 1)]
    assert Lead.objects.filter(group_key="order:S1").get().registrations == 3


def test_a_group_grows_with_later_registrations_and_an_unchanged_one_is_not_told():
    event = make_event()
    rule = services.create_rule(name="r", on_create=True)
    sink = OutsideSink()
    services.register(event, name="A", phone="1", sale_order_id="S1")
    services.register(event, name="Z", phone="1", sale_order_id="S2")
    walk_all(sink)
    services.register(event, name="B", phone="2", sale_order_id="S1")
    walk_all(sink)
    walk_all(sink)
    assert [group.key for group in sink.created] == ["order:S1", "order:S2"]
    (grown,) = sink.updated
    assert (grown.key, grown.lead_id, grown.total) == ("order:S1", "crm-1", 2)
    assert [member.name for member in grown.new] == ["B"]
    assert [member.name for member in grown.members()] == ["A", "B"]
    assert LeadProvenance.objects.get(rule=rule, group_key="order:S1").growths == 1


def test_membership_is_read_only_when_it_is_asked_for(django_assert_num_queries, settings):
    settings.EVENT_LEAD_BATCH = 5
    event = make_event()
    everyone = {make_registration(event, sale_order_id="S1").pk for _ in range(12)}
    services.create_rule(name="r", on_create=True)
    sink = OutsideSink()
    walk_all(sink)
    assert [len(group.new) for group in (*sink.created, *sink.updated)] == [5, 5, 2]
    assert [group.total for group in (*sink.created, *sink.updated)] == [5, 10, 12]
    last = sink.updated[-1]
    with django_assert_num_queries(1):
        assert {member.id for member in last.members()} >= everyone


def test_the_idempotency_key_is_ascii_whatever_an_order_is_called():
    event = make_event()
    make_registration(event, sale_order_id="注文 1\r\nX: y")
    rule = services.create_rule(name="r", on_create=True)
    sink = OutsideSink()
    walk_all(sink)
    (key,) = sink.leads
    assert key.isascii()
    assert key.isprintable()
    assert " " not in key
    assert key.startswith(f"{rule.pk}:order:")
