"""Endpoints that are slow, huge, redirecting, or somebody else's: nothing is followed, nothing lasts."""

import socket
import time

import pytest

from notifications.models import WebhookDelivery, WebhookMessage, WebhookSubscription
from notifications.webhooks.officers import send_test
from notifications.webhooks.subscribing import subscribe
from outbound.errors import OutboundError
from tests.webhooks.conftest import happen, run
from tests.webhooks.endpoint import reply

pytestmark = pytest.mark.django_db


def last():
    return WebhookDelivery.objects.latest("id")


def silence(endpoint):
    return lambda handler: endpoint.over.wait(20)


def drip_the_head(endpoint):
    def answer(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not endpoint.over.wait(0.05):
            handler.wfile.write(b"z")

    return answer


def drip_the_body(endpoint):
    def answer(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n")
        while not endpoint.over.wait(0.05):
            handler.wfile.write(b"z")

    return answer


@pytest.mark.parametrize("behave", [silence, drip_the_head, drip_the_body])
def test_an_endpoint_that_takes_its_time_meets_the_deadline(endpoint, subscribed, behave):
    endpoint.answer = behave(endpoint)
    started = time.monotonic()
    happen()
    assert time.monotonic() - started < 5
    assert last().outcome == "too_late"
    assert WebhookMessage.objects.get().state == "pending"


def test_a_resolver_that_hangs_meets_the_deadline_too(endpoint, subscribed, monkeypatch):
    WebhookSubscription.objects.update(url="http://hangs.example/")
    started = time.monotonic()
    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", lambda *_, **__: endpoint.over.wait(20) and [])
        happen()
    assert time.monotonic() - started < 5
    assert last().outcome == "too_late"


def test_a_huge_answer_is_cut_and_the_rest_left_unread(endpoint, subscribed):
    sent = []

    def flood(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        try:
            sent.extend(handler.connection.send(b"<b>\x00" * 250_000) for _ in range(1000))
        except OSError:
            pass

    endpoint.answer = flood
    happen()
    assert last().outcome == "delivered"
    assert (len(last().answer), last().answer_cut) == (8192, True)
    assert "\x00" not in last().answer
    assert sum(sent) < 100_000_000


@pytest.mark.parametrize(
    ("code", "where"),
    [
        (301, "http://127.0.0.1:{port}/elsewhere"),
        (302, "http://169.254.169.254/latest/meta-data/"),
        (302, "/elsewhere"),
        (303, "//127.0.0.1:{port}/elsewhere"),
        (307, "http://example.org/"),
        (307, "http://127.0.0.1:{port}/elsewhere"),
        (308, "file:///etc/passwd"),
        (308, "http://127.0.0.1:{port}/elsewhere"),
    ],
)
def test_a_redirect_is_a_failure_and_is_never_followed(endpoint, subscribed, code, where):
    endpoint.answer = lambda handler: reply(
        handler, code, Location=where.format(port=endpoint.port)
    )
    happen()
    assert (last().outcome, last().code) == ("redirected", code)
    assert [each.path for each in endpoint.received] == ["/hook"]
    send_test(subscribed.row.pk, actor="ada", reason="try")
    run()
    assert (last().outcome, last().code) == ("redirected", code)
    assert [each.path for each in endpoint.received] == ["/hook", "/hook"]


@pytest.mark.parametrize(
    "garbage",
    [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200, b"\x00" * 70_000],
)  # fmt: skip
def test_what_is_no_http_is_a_failure_like_any_other(endpoint, subscribed, garbage):
    def answer(handler):
        handler.wfile.write(garbage)
        handler.wfile.flush()
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_WR)

    endpoint.answer = answer
    happen()
    assert last().outcome == "unreachable"
    assert WebhookMessage.objects.get().state == "pending"


def test_a_resolver_that_changes_its_mind_is_asked_once_and_believed_once(
    endpoint, subscribed, settings, monkeypatch
):
    """First a public address, then loopback: what is connected to is what was checked, and no other."""
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    asked, dialled = [], []
    real = socket.socket.connect

    def rebind(host, port, *args, **kwargs):
        asked.append(host)
        address = "93.184.216.34" if len(asked) % 2 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, endpoint.port))]

    def dial(self, where):
        dialled.append(where)
        raise ConnectionRefusedError

    url = endpoint.url.replace("127.0.0.1", "rebind.example").replace("http", "https")
    WebhookSubscription.objects.update(url=url)
    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", rebind)
        patched.setattr(socket.socket, "connect", dial)
        happen()
        assert (asked, dialled) == (["rebind.example"], [("93.184.216.34", endpoint.port)])
        assert last().outcome == "unreachable"
        patched.setattr(socket.socket, "connect", real)
        happen()
    assert last().outcome == "address_refused"
    assert len(asked) == 2
    assert endpoint.received == []


def test_http_is_called_no_more_once_private_networks_are_not(
    endpoint, subscribed, settings, monkeypatch
):
    """Its host is public, so that only the missing TLS can be what is refused."""
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    WebhookSubscription.objects.update(url="http://public.example/")
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 80))]
    connected = []
    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        patched.setattr(socket.socket, "connect", lambda _, where: connected.append(where))
        happen()
    assert last().outcome == "url_refused"
    assert connected == []


def test_a_name_with_one_private_address_among_public_ones_is_refused(
    endpoint, subscribed, settings, monkeypatch
):
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    both = ("93.184.216.34", "10.0.0.1")
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 80)) for each in both]
    WebhookSubscription.objects.update(url="https://mixed.example/")
    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        happen()
    assert last().outcome == "address_refused"


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[::1]",
        "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[fe80::1%25lo]", "localhost.", "169.254.169.254",
        "100.64.0.1", "１２７.0.0.1", "user@127.0.0.1", "0.0.0.0", "[::]", "224.0.0.1",
    ],
)  # fmt: skip
def test_a_private_or_odd_address_is_neither_subscribed_nor_called_nor_tested(
    endpoint, subscribed, settings, host
):
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    url = endpoint.url.replace("127.0.0.1", host)
    for scheme in ("http", "https"):
        with pytest.raises(OutboundError):
            subscribe(name="x", url=url.replace("http", scheme), event_types=["test.happened"])
    WebhookSubscription.objects.update(url=url.replace("http", "https"))
    happen()
    send_test(subscribed.row.pk, actor="ada", reason="try")
    run()
    outcomes = set(WebhookDelivery.objects.values_list("outcome", flat=True))
    assert outcomes <= {"address_refused", "url_refused"}
    assert WebhookDelivery.objects.count() == 2
    assert endpoint.received == []


def test_an_endpoint_that_is_away_is_a_failure_like_any_other(subscribed):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    WebhookSubscription.objects.update(url=f"http://127.0.0.1:{port}/")
    happen()
    assert last().outcome == "unreachable"
