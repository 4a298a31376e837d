"""Of what a restore wrote nothing goes out and nothing runs; what was there and live goes on."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet

from backups.models import BackupRun, BackupTarget
from backups.restores import request_restore
from hubqueue.models import Job
from hubqueue.testing import run_due_jobs
from leads import services
from leads.models import Event, Lead, LeadArm, LeadRequest
from notifications.mail.kept import kept
from notifications.models import Notification, WebhookMessage, WebhookSubscription
from notifications.services import notify
from notifications.trial import TRIAL
from tests.backups.restoring.conftest import archive_of, performed
from tests.leads.made import walk_all
from tests.support.mail import MailServer, mail_server

pytestmark = pytest.mark.django_db(transaction=True)
GONE, HERE = "gone", "here"


@pytest.fixture
def smtp(settings: Any) -> Iterator[MailServer]:
    with mail_server() as server:
        settings.NOTIFICATIONS_MAIL_URL = server.url
        yield server
        kept.close_all()


@pytest.fixture
def run(boss: User, cellar: BackupTarget) -> BackupRun:
    """An archive of two of everything that waits for a worker."""
    rule = services.create_rule(name="everybody", on_create=True)
    for name in (GONE, HERE):
        notify(TRIAL.name, [boss], cause=name, tenant="acme")
        event = Event.objects.create(code=name, name=name, tenant_id="acme")
        services.register(event, name="A", phone="1")
        endpoint = WebhookSubscription.objects.create(
            name=name, tenant_id="acme", url="https://example.org/", event_types=["x"], secret="x"
        )
        WebhookMessage.objects.create(
            tenant_id="acme", subscription=endpoint, event_type="x", cause_id=name, body=b"{}"
        )
    assert rule.active
    WebhookSubscription.objects.create(
        name="other", tenant_id="other", url="https://example.org/", event_types=["x"], secret="x"
    )
    return archive_of("acme", cellar)


def take_away() -> None:
    """One of each is not here any more; jobs are."""
    Event.objects.get(code=GONE).delete()
    Notification.objects.get(cause_id=GONE).delete()
    WebhookSubscription.objects.get(name=GONE).delete()


def restored(run: BackupRun, **how: str) -> None:
    restore = performed(request_restore(run, **how))
    assert (restore.state, restore.code) == ("SUCCEEDED", "")


def standing(name: str) -> tuple[str, str, str, str, str, int]:
    """How the message, the endpoint, the call of it, and the request for leads with its triggers stand."""
    request = LeadRequest.objects.get(event__code=name)
    return (
        _one(Notification.objects.filter(cause_id=name)).state,
        _one(WebhookSubscription.objects.filter(name=name)).state,
        _one(WebhookMessage.objects.filter(cause_id=name)).state,
        request.park_reason,
        "done" if request.done else "open",
        LeadArm.objects.filter(event__code=name).count(),
    )


def _one(rows: "QuerySet[Any]") -> Any:
    found: Model = rows.get()
    return found


QUIET = ("held", "disabled", "held", "restored", "open", 1)
LIVE = ("pending", "active", "pending", "", "open", 1)


def drain() -> None:
    run_due_jobs()
    walk_all()


def test_after_a_replace_nothing_goes_out_by_itself(run: BackupRun, smtp: MailServer) -> None:
    assert standing(HERE) == LIVE
    take_away()
    restored(run, mode="replace")
    assert [standing(name) for name in (GONE, HERE)] == [QUIET, QUIET]
    drain()
    assert WebhookSubscription.objects.active().get().tenant_id == "other"
    assert smtp.mails == []
    assert not Lead.objects.exists()
    assert [standing(name) for name in (GONE, HERE)] == [QUIET, QUIET]


def test_a_merge_holds_what_it_adds_and_what_was_there_still_goes_out(
    run: BackupRun, smtp: MailServer
) -> None:
    take_away()
    restored(run, mode="merge", if_there="skip")
    assert (standing(GONE), standing(HERE)) == (QUIET, LIVE)
    drain()
    assert standing(GONE) == QUIET
    assert Notification.objects.get(cause_id=HERE).state == "sent"
    assert [each.recipient for each in smtp.mails] == ["boss@example.org"]
    assert [lead.event.code for lead in Lead.objects.all()] == [HERE]


def test_what_a_merge_overwrites_is_held_and_its_job_finds_nothing_to_send(
    run: BackupRun, smtp: MailServer
) -> None:
    take_away()
    job = Job.objects.get(dedupe_key=str(Notification.objects.get(cause_id=HERE).pk))
    restored(run, mode="merge", if_there="overwrite")
    assert [standing(name) for name in (GONE, HERE)] == [QUIET, QUIET]
    drain()
    job.refresh_from_db()
    assert (job.state, smtp.mails) == ("SUCCEEDED", [])
    assert not Lead.objects.exists()


def test_a_request_that_a_trigger_makes_stands_beside_those_of_the_archive(
    boss: User, cellar: BackupTarget
) -> None:
    """The trigger's quiet makes the request that is missing, and not the one that is still to be written."""
    services.create_rule(name="everybody", on_create=True)
    for name in (GONE, HERE):
        event = Event.objects.create(code=name, name=name, tenant_id="acme")
        services.register(event, name="A", phone="1")
    LeadRequest.objects.filter(event__code=GONE).delete()
    run = archive_of("acme", cellar)
    restored(run, mode="replace")
    reasons = LeadRequest.objects.values_list("event__code", "park_reason").order_by("event__code")
    assert list(reasons) == [(GONE, "restored"), (HERE, "restored")]
