"""What applications declare is done to the rows of a restore: by rows, and in the SQL of a whole system."""

from collections.abc import Callable

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from backups.data.spec import discover
from backups.data.tables import tables
from backups.restore import quiet as by_rows
from backups.system import quiet as by_system
from leads import leasing, officers, services
from leads.models import Event, LeadArm, LeadRequest
from notifications.models import Notification, WebhookMessage, WebhookSubscription
from notifications.services import notify
from notifications.trial import TRIAL
from tests.leads.made import arms, make_event, request_of, taken, walk_all

pytestmark = pytest.mark.django_db


def of_rows() -> None:
    by_rows.quiet(connection, tables(discover()))


def of_a_system() -> None:
    with connection.cursor() as cursor:
        cursor.execute(by_system.quiet(discover()))


@pytest.fixture(params=[of_rows, of_a_system], ids=["rows", "system"])
def restore(request: pytest.FixtureRequest) -> Callable[[], None]:
    made: Callable[[], None] = request.param
    return made


def register(event: Event) -> None:
    services.register(event, name="A", phone="1")


def test_requests_that_are_open_or_armed_are_parked_and_no_pass_takes_them(
    restore: Callable[[], None],
) -> None:
    rule = services.create_rule(name="everybody", on_create=True)
    done, leased, armed, stray, parked, waits = events = [make_event() for _ in range(6)]
    for event in (done, armed):
        register(event)
    walk_all()
    register(leased)
    assert leasing.claim(by="the original") is not None
    register(leased)  # while it is walked
    register(armed)
    LeadRequest.objects.filter(event=armed).update(done=True)  # as a rival that was rolled back
    register(stray)
    LeadRequest.objects.filter(event=stray).delete()
    register(parked)
    officers.park(parked.pk, actor="ada", reason="ours")
    register(waits)
    made = taken(rule.pk)
    restore()
    reasons = {event.code: request_of(event).park_reason for event in events}
    assert list(reasons.values()) == ["", "restored", "restored", "restored", "ours", "restored"]
    assert [request_of(event).done for event in (done, armed)] == [True, False]
    assert request_of(leased).lease_token is None
    assert walk_all().summary.claimed == 0
    assert leasing.next_due() is None
    assert taken(rule.pk) == made
    for event in (leased, armed, stray, waits):
        officers.release(event.pk, actor="ada", reason="the original is gone")
    walk_all()
    assert len(taken(rule.pk)) == len(made) + 5
    assert arms(parked) != []


def test_an_arm_whose_event_is_gone_makes_no_request(restore: Callable[[], None]) -> None:
    event = make_event()
    LeadArm.objects.create(event=event, trigger=LeadArm.Trigger.REARM)
    Event.objects.filter(pk=event.pk)._raw_delete(using="default")
    restore()
    assert not LeadRequest.objects.exists()


def test_mail_webhooks_and_leads_of_one_restore_wait_together(restore: Callable[[], None]) -> None:
    waiting()
    restore()
    assert Notification.objects.get().state == "held"
    assert WebhookMessage.objects.get().state == "held"
    assert WebhookSubscription.objects.get().state == "disabled"
    assert LeadRequest.objects.get().park_reason == "restored"
    before = states()
    restore()
    assert states() == before


def test_only_the_rows_that_were_restored_are_touched() -> None:
    here = waiting()
    by_rows.quiet(connection, tables(discover()), rows="FALSE")
    assert Notification.objects.get().state == "pending"
    chosen = [each for each in tables(discover()) if each.label == "notifications.Notification"]
    by_rows.quiet(connection, chosen, rows=f"id = '{here.pk}'")
    assert Notification.objects.get().state == "held"


def test_a_dump_of_an_older_schema_is_left_as_it_is_where_it_does_not_know_the_state() -> None:
    waiting()
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM django_migrations WHERE app = 'notifications' AND name = '0003_held'"
        )
    of_a_system()
    assert Notification.objects.get().state == "pending"
    assert WebhookSubscription.objects.get().state == "disabled"
    assert LeadRequest.objects.get().park_reason == "restored"


def waiting() -> Notification:
    """A message, a call of a webhook and an event that wait for a worker."""
    bo = get_user_model().objects.create(username="bo", email="bo@example.org")
    (made,) = notify(TRIAL.name, [bo], cause="one")
    row = WebhookSubscription.objects.create(
        name="shop", url="https://example.org/", event_types=["x"], secret="sealed"
    )
    WebhookMessage.objects.create(subscription=row, event_type="x", cause_id="one", body=b"{}")
    services.create_rule(name="everybody", on_create=True)
    register(make_event())
    return Notification.objects.get(pk=made)


def states() -> list[object]:
    return [
        list(Notification.objects.values_list("state", "reason")),
        list(WebhookMessage.objects.values_list("state", "reason")),
        list(LeadRequest.objects.values_list("parked_at", "park_reason")),
    ]
