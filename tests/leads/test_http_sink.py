"""The HTTP sink against real servers on this machine: refusals, silence, drips, floods, redirects."""

import json
import threading
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hubqueue.testing import move_clock
from leads import services
from leads.models import LeadProvenance
from leads.sinks import HttpSink
from outbound.addresses import is_public
from tests.leads.made import make_event, make_registration, request_of, walk_all

pytestmark = pytest.mark.django_db


class Crm:
    """A CRM that keeps leads by idempotency key; ``answer`` may speak first."""

    def __init__(self):
        self.requests = []
        self.leads = {}
        self.answer = lambda handler: False
        self.url = ""
        self.over = threading.Event()

    def keep(self, handler, body):
        self.requests.append((handler.command, handler.path, dict(handler.headers), body))
        key = handler.headers["Idempotency-Key"]
        return self.leads.setdefault(key, f"lead/{len(self.leads) + 1}")


@contextmanager
def serving(crm):
    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self):
            try:
                super().handle_one_request()
            except OSError:
                self.close_connection = True

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made = crm.keep(self, body)
            if not crm.answer(self):
                reply(self, 201, json.dumps({"id": made}).encode())

        do_PATCH = do_POST

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    crm.url = f"http://127.0.0.1:{server.server_port}/leads"
    try:
        yield crm
    finally:
        crm.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def reply(handler, code, body=b"", **headers):
    handler.send_response(code)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
    return True


@pytest.fixture
def crm(settings):
    with serving(Crm()) as made:
        settings.LEADS_SINK = "leads.sinks.HttpSink"
        settings.LEADS_HTTP_URL = made.url
        settings.LEADS_HTTP_TOKEN = "open sesame"
        settings.LEADS_HTTP_ALLOW_PRIVATE = True
        settings.LEADS_HTTP_TIMEOUT = 0.5
        settings.LEADS_HTTP_DEADLINE = 1.0
        yield made


@pytest.fixture
def event():
    services.create_rule(name="everybody", on_create=True)
    event = make_event()
    make_registration(event, name="Zoë", sale_order_id="S 1/ü")
    services.arm_event(event)
    return event


def error_of(event):
    return request_of(event).error_detail


def test_a_group_is_posted_with_its_key_and_grows_by_patch(crm, event):
    walk_all(HttpSink())
    ((verb, path, headers, body),) = crm.requests
    assert (verb, path) == ("POST", "/leads")
    assert headers["Idempotency-Key"] == body["idempotency_key"]
    assert headers["Idempotency-Key"].endswith(":order:S%201%2F%C3%BC")
    assert headers["Authorization"] == "Bearer open sesame"
    assert (body["total"], [m["name"] for m in body["members"]]) == (1, ["Zoë"])
    assert LeadProvenance.objects.get().lead_id == "lead/1"
    services.register(event, name="B", phone="1", sale_order_id="S 1/ü")
    walk_all(HttpSink())
    verb, path, headers, body = crm.requests[1]
    assert (verb, path) == ("PATCH", "/leads/lead%2F1")
    assert (body["total"], [m["name"] for m in body["members"]]) == (2, ["B"])
    assert headers["Idempotency-Key"] != crm.requests[0][2]["Idempotency-Key"]
    assert request_of(event).done


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (422, "leads.sink_refused: the CRM answered 422"),
        (401, "leads.sink_refused: the CRM answered 401"),
        (429, "leads.sink_unreachable: the CRM answered 429"),
        (503, "leads.sink_unreachable: the CRM answered 503"),
    ],
)
def test_a_refusal_is_typed_and_stores_nothing_of_the_answer(crm, event, code, error):
    crm.answer = lambda handler: reply(handler, code, b'{"error": "Zoe is a secret"}')
    walk_all(HttpSink())
    assert error_of(event) == error
    assert LeadProvenance.objects.get().lead_id is None


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(crm, event, code):
    crm.answer = lambda handler: reply(handler, code, Location="http://169.254.169.254/latest/")
    walk_all(HttpSink())
    assert error_of(event).startswith(f"leads.sink_answer_refused: the CRM answered {code}")
    assert len(crm.requests) == 1


def silence(crm):
    return lambda handler: crm.over.wait(20)


def drip(crm):
    """Half the answer's head, and then a byte now and then: no single wait is ever too long."""

    def answer(handler):
        handler.wfile.write(b"HTTP/1.1 201 Created\r\nX-Slow: ")
        while not crm.over.wait(0.05):
            handler.wfile.write(b"z")
        return True

    return answer


def drip_body(crm):
    def answer(handler):
        handler.wfile.write(b"HTTP/1.1 201 Created\r\nContent-Length: 9999\r\n\r\n")
        while not crm.over.wait(0.05):
            handler.wfile.write(b" ")
        return True

    return answer


@pytest.mark.parametrize("behave", [silence, drip, drip_body])
def test_a_sink_that_hangs_meets_its_deadline_and_finds_its_lead_again(crm, event, behave):
    crm.answer = behave(crm)
    walk_all(HttpSink())
    assert error_of(event).startswith("leads.sink_unreachable: no answer")
    assert LeadProvenance.objects.get().lead_id is None
    crm.answer = lambda handler: False
    with move_clock(timedelta(hours=1)):
        walk_all(HttpSink())
    assert len(crm.leads) == 1
    assert LeadProvenance.objects.get().lead_id == "lead/1"
    assert request_of(event).done


def test_a_cut_connection_after_the_lead_was_made_makes_no_second_one(crm, event):
    crm.answer = lambda handler: handler.connection.close() or True
    walk_all(HttpSink())
    assert error_of(event).startswith("leads.sink_unreachable")
    crm.answer = lambda handler: False
    with move_clock(timedelta(hours=1)):
        walk_all(HttpSink())
    assert len(crm.leads) == 1
    assert len(crm.requests) == 2


def test_a_flood_is_cut_at_the_cap(crm, event, settings):
    settings.LEADS_HTTP_ANSWER_LIMIT = 1000
    crm.answer = lambda handler: reply(handler, 200, b" " * 100_000)
    walk_all(HttpSink())
    assert error_of(event) == "leads.sink_answer_refused: the answer is longer than 1000 bytes"


@pytest.mark.parametrize(
    "body", [b"", b"nonsense", b"[]", b'{"id": null}', b'{"id": ""}', b'{"id": "%s"}' % (b"x" * 65), b'{"id": true}']
)  # fmt: skip
def test_an_answer_without_a_usable_id_is_refused(crm, event, body):
    crm.answer = lambda handler: reply(handler, 200, body)
    walk_all(HttpSink())
    assert error_of(event).startswith("leads.sink_answer_refused")
    assert LeadProvenance.objects.get().lead_id is None


def test_an_id_that_is_a_number_is_kept_as_text(crm, event):
    crm.answer = lambda handler: reply(handler, 200, b'{"id": 4711}')
    walk_all(HttpSink())
    assert LeadProvenance.objects.get().lead_id == "4711"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"]
)
def test_a_private_address_is_refused_however_it_is_spelt(crm, event, settings, host):
    settings.LEADS_HTTP_ALLOW_PRIVATE = False
    settings.LEADS_HTTP_URL = crm.url.replace("127.0.0.1", host)
    walk_all(HttpSink())
    assert error_of(event).startswith("leads.sink_address_refused")
    assert crm.requests == []


@pytest.mark.parametrize(
    "url", ["", "ftp://example.org/", "http://", "http://user:pw@example.org/", "http://[::1"]
)
def test_an_address_that_is_no_address_is_refused(crm, event, settings, url):
    settings.LEADS_HTTP_URL = url
    walk_all(HttpSink())
    assert error_of(event).startswith("leads.sink_not_wired")


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("10.0.0.1", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("fec0::1", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("::7f00:1", False),
    ],
)
def test_what_counts_as_public(address, public):
    assert is_public(address) is public
