"""An officer's day with leads in a real browser, a real worker behind it: import a file, run, park, release."""

import csv
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from hubqueue.models import Job, Operation
from leads import leasing, services
from leads.models import Event, ImportRun, Lead, LeadRequest, Registration
from tests.leads.made import make_event, make_registration, request_of
from tests.support.wait import until
from tests.support.workers import WorkerTree

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]

Picture = Callable[[str], None]
LogIn = Callable[[str], Any]
Worker = Callable[[], WorkerTree]
REGISTRATIONS = 2 * 200 + 100  # three pages of the usual EVENT_LEAD_BATCH
MESSY = (
    "\ufeffevent;name;email;phone;company;sale_order;state;registered_at;wants_offer\r\n"
    "FAIR;Ada;ada@example.org;;Nordlicht AG;S1;open;2026-06-01T10:00:00+02:00;yes\r\n"
    'FAIR;"Two\nLines";two@example.org;;;S1;open;2026-06-01T10:00:00+02:00;yes\r\n'
    "FAIR;<script>alert(1)</script>;s@example.org;;;;done;2026-06-01T10:00:00+02:00;no\r\n"
    "FAIR;Ada;ada@example.org;;Nordlicht AG;S1;open;2026-06-01T10:00:00+02:00;yes\r\n"
    "NOWHERE;Bo;bo@example.org;;;;open;2026-06-01T10:00:00+02:00;\r\n"
    "FAIR;Nobody To Call;;;;;open;2026-06-01T10:00:00+02:00;\r\n"
    "FAIR;Cy;cy@example.org;;;;perhaps;2026-06-01T10:00:00+02:00;\r\n"
    "FAIR;Di;di@example.org;;;;open;2026-06-31T10:00:00+02:00;\r\n"
    "FAIR;Short\r\n"
)


@pytest.fixture
def worker(process_env: dict[str, str], tmp_path: Path) -> Iterator[Worker]:
    """Starts a real worker, which is gone with the test."""
    trees: list[WorkerTree] = []

    def start() -> WorkerTree:
        trees.append(WorkerTree(["--queues=leads"], env=process_env, log=tmp_path / "worker.log"))
        return trees[-1]

    yield start
    for tree in trees:
        tree.kill_tree()


def test_a_messy_file_is_looked_at_imported_and_reported(
    log_in: LogIn, picture: Picture, worker: Worker
) -> None:
    make_event(code="FAIR", name="Night Trains 2026", time_zone="Europe/Vienna")
    services.create_rule(name="everybody", on_create=True)
    page = log_in("ada")
    page.goto("/admin/leads/importrun/")
    page.click("text=Import a file")
    picture("leads-upload")
    page.set_input_files(
        "#id_file", {"name": "guests.csv", "mimeType": "text/csv", "buffer": MESSY.encode()}
    )
    page.click("input[value='Look at it']")
    page.wait_for_selector("input[value=Import]")
    assert page.inner_text("#content-main thead").split()[:2] == ["EVENT", "NAME"]
    assert "<script>alert(1)</script>" in page.inner_text("#content-main tbody")
    picture("leads-preview")
    assert not Registration.objects.exists()

    page.click("input[value=Import]")
    page.wait_for_selector(".hq-running")
    picture("leads-import-running")
    worker()
    page.wait_for_selector(".hq-succeeded")
    said = page.inner_text("#content-main")
    assert "9 records read: 3 imported, 1 was there already, 5 refused" in said
    picture("leads-import-done")
    with page.expect_download() as waiting:
        page.click("text=Download the report")
    report = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text("utf-8"))))
    kept = ImportRun.objects.get().problems.order_by("line")
    assert [(int(each["line"]), each["code"], each["reason"]) for each in report] == [
        (each.line, each.code, each.reason) for each in kept
    ]
    assert [each["line"] for each in report] == ["6", "7", "8", "9", "10", "11"]
    until(lambda: Lead.objects.count() == 2, message="the leads of order S1 and of the day")


def test_a_file_that_is_no_table_is_refused_in_words(log_in: LogIn, picture: Picture) -> None:
    page = log_in("ada")
    page.goto("/admin/leads/importrun/upload/")
    page.set_input_files(
        "#id_file", {"name": "photo.csv", "mimeType": "text/csv", "buffer": b"\x89PNG\r\n\x00"}
    )
    page.click("input[value='Look at it']")
    page.wait_for_selector("#content-main .errornote")
    picture("leads-upload-refused")
    assert not ImportRun.objects.exists()


def test_a_request_is_run_from_its_page_watched_and_finished(
    log_in: LogIn, picture: Picture, worker: Worker
) -> None:
    event = make_event(code="FAIR", name="Night Trains 2026")
    first = services.create_rule(name="everybody", on_create=True)
    second = services.create_rule(name="everybody again", on_create=True)
    for _ in range(REGISTRATIONS):
        make_registration(event)
    services.arm_event(event)
    Job.objects.all().delete()  # the pass: this walk is to be the officer's
    page = log_in("ada")
    open_request(page, event, picture)

    page.click("text=Run now")
    assert "Every registration of the event is looked at" in page.inner_text("#content-main")
    picture("leads-run-why")
    page.fill("#id_reason", "the caller waits")
    page.click("input[value='Run now']")
    page.wait_for_selector(".hq-head .hq-running")
    assert "the run that ada asked for" in page.inner_text(".hq-why")
    assert page.locator("text=Run now").count() == 0  # it would be refused
    picture("leads-run-asked")

    with rows_of_another(second.pk, event):
        worker()
        page.wait_for_selector("text=rule 1 of 2")
        page.wait_for_selector(f"dd:text-is('{REGISTRATIONS}')")
        picture("leads-run-walking")
        assert not request_of(event).done
    page.wait_for_selector(".hq-head .hq-succeeded")
    assert "every registration was looked at" in page.inner_text(".hq-why")
    picture("leads-run-done")
    assert request_of(event).done
    assert {lead.rule_id for lead in Lead.objects.all()} == {first.pk, second.pk}
    page.click("text=What officers did")
    assert "Run now: the caller waits" in page.inner_text("#change-history")
    picture("leads-history")


def test_a_run_under_a_fresh_lease_is_refused_in_words(log_in: LogIn, picture: Picture) -> None:
    event = make_event(code="FAIR", name="Night Trains 2026")
    services.arm_event(event)
    page = log_in("ada")
    open_request(page, event, picture)
    page.click("text=Run now")
    page.fill("#id_reason", "the caller waits")
    # In the meantime somebody else's walk has begun.
    assert leasing.claim(by="run by bo") is not None
    page.click("input[value='Run now']")
    said = page.inner_text(".messagelist .error")
    assert "FAIR Night Trains 2026: refused. A walk holds this request" in said
    assert "(run by bo); wait until it ends, at most 15 minutes" in said
    assert "the run that bo asked for" in page.inner_text(".hq-why")
    picture("leads-run-refused")
    assert not Operation.objects.exists()


def test_a_request_is_parked_and_released_with_a_reason(
    log_in: LogIn, picture: Picture, worker: Worker
) -> None:
    event = make_event(code="FAIR", name="Night Trains 2026")
    services.create_rule(name="everybody", on_create=True)
    page = log_in("ada")
    services.register(event, name="Ada", phone="1")
    open_request(page, event, picture)
    page.click("text=Park")
    page.click("input[value=Park]")  # no reason: the browser itself asks for one
    assert request_of(event).parked_at is None
    page.fill("#id_reason", "the CRM moves")
    picture("leads-park-why")
    page.click("input[value=Park]")
    page.wait_for_selector(".hq-head .hq-parked")
    assert '"the CRM moves"' in page.inner_text(".hq-why")
    picture("leads-parked")
    worker()
    until(lambda: not Job.objects.unfinished().filter(kind="leads.generate").exists())
    assert not Lead.objects.exists()

    page.click("text=Release")
    page.fill("#id_reason", "it has moved")
    page.press("#id_reason", "Enter")
    page.wait_for_selector(".messagelist .success")
    page.wait_for_selector(".hq-head .hq-succeeded")
    assert Lead.objects.get().registrations == 1


def test_a_failure_is_told_in_words_and_a_list_verb_takes_many(
    log_in: LogIn, picture: Picture
) -> None:
    failed, other = make_event(code="FAIR", name="Night Trains"), make_event(name="Choir Singing")
    for event in (failed, other):
        services.arm_event(event)
    lease = leasing.take(failed.pk, by="x")
    assert lease is not None
    leasing.fail(lease, {"rule": 1, "rules": 1}, code="leads.sink_unreachable", reason="HTTP 503")
    page = log_in("ada")
    page.goto("/admin/leads/leadrequest/")
    picture("leads-list")
    open_request(page, failed, picture)
    said = page.inner_text(".hq-why")
    assert "The CRM could not be reached." in said
    assert "It is tried again in" in said
    picture("leads-failed")

    page.goto("/admin/leads/leadrequest/")
    page.check("#action-toggle")
    page.select_option("select[name=action]", "rearm")
    page.click("button[name=index]")
    assert "Choir Singing" in page.inner_text(".hq-chosen")
    picture("leads-rearm-why")
    page.fill("#id_reason", "the CRM is back")
    page.click("input[value='Arm again']")
    page.wait_for_selector(".messagelist .success >> nth=1")
    picture("leads-list-after")
    assert not LeadRequest.objects.filter(next_attempt_at__isnull=False).exists()


def test_every_page_of_leads_opens_without_a_complaint(log_in: LogIn, picture: Picture) -> None:
    event = make_event(code="FAIR", name="Night Trains 2026")
    rule = services.create_rule(
        name="guests of the fair",
        on_create=True,
        predicates=[{"axis": "event", "values": [str(event.pk)]}],
    )
    services.register(event, name="Ada", phone="1", sale_order_id="S1")
    from tests.leads.made import walk_all

    walk_all()
    page = log_in("ada")
    for name in ("event", "registration", "lead", "leadprovenance", "leadrule", "question"):
        page.goto(f"/admin/leads/{name}/")
        picture(f"leads-all-{name}")
    for name, key in (("leadrule", rule.pk), ("lead", Lead.objects.get().pk)):
        page.goto(f"/admin/leads/{name}/{key}/change/")
        picture(f"leads-one-{name}")
    page.goto("/admin/leads/leadprovenance/relink/")
    picture("leads-relink")
    page.goto("/admin/leads/leadrule/add/")
    picture("leads-rule-add")


def open_request(page: Any, event: Event, picture: Picture) -> None:
    """From the list to the request of one event."""
    page.goto("/admin/leads/leadrequest/")
    page.click(f"#result_list a:has-text('{event.name}')")
    page.wait_for_selector(".hq-head")
    assert page.inner_text("#content h1") == f"Leads of {event}"
    picture("leads-request")


@contextmanager
def rows_of_another(rule_id: Any, event: Event) -> Iterator[None]:
    """Another transaction is making the day's group of this rule: the walk waits for its end."""
    import threading

    held, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(
                "INSERT INTO leads_leadprovenance (rule_id, grouping, group_key) VALUES (%s, %s, %s)",
                [rule_id, "per_event_day", f"day:{event.pk}:2026-06-01"],
            )
            held.set()
            leave.wait(60)
            cursor.execute("ROLLBACK")
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(10)
    try:
        yield
    finally:
        leave.set()
        thread.join()
