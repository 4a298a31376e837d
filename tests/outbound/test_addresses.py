"""Which URLs and addresses are called: nothing private, nothing spelt oddly, nothing with a password."""

import socket

import pytest

from outbound.addresses import is_public
from outbound.errors import AddressRefused, Unreachable, UrlRefused
from outbound.exchange import Limits, exchange
from outbound.urls import Target, target_of
from outbound.vetted import connect, connection_to

LIMITS = Limits(timeout=1, deadline=1, size=1000, private=False)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://example.org", Target(True, "example.org", None, "/")),
        ("http://EXAMPLE.org:8080/a?b=c#d", Target(False, "example.org", 8080, "/a?b=c")),
        ("https://xn--bcher-kva.example/x", Target(True, "xn--bcher-kva.example", None, "/x")),
        ("http://my_crm/", Target(False, "my_crm", None, "/")),
        ("http://93.184.216.34/", Target(False, "93.184.216.34", None, "/")),
        ("http://[2606:2800:220:1::1]:81/", Target(False, "2606:2800:220:1::1", 81, "/")),
        ("http://[::1]/", Target(False, "::1", None, "/")),
    ],
)
def test_a_plain_url_is_taken_apart(url, target):
    assert target_of(url) == target


@pytest.mark.parametrize(
    "host",
    [
        "2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1", "127.1", "127.0.1",
        "127.0.0.01", "127.0.0.1.", "localhost.", "example.org.", "1.2.3.4.5", "a.256", "a.0x",
        "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]", "[fe80::1%25eth0]", "[::1%25lo]", "[::ffff:93.184.216.34]",
    ],
)  # fmt: skip
def test_an_odd_spelling_of_an_address_is_refused_even_where_private_ones_are_allowed(host):
    with pytest.raises((AddressRefused, UrlRefused)):
        target_of(f"http://{host}/")


@pytest.mark.parametrize(
    "url",
    [
        "", "example.org", "//example.org", "ftp://example.org/", "file:///etc/passwd",
        "gopher://example.org/", "http://", "http:///x", "http://user@example.org/",
        "http://user:pw@example.org/", "http://@example.org/", "http://example.org\\@127.0.0.1/",
        "http://exa\tmple.org/", "http://example.org/\r\nHost: x", " http://example.org/",
        "http://１２７.0.0.1/", "http://①②⑦.0.0.1/", "http://example。org/", "http://bücher.example/",
        "http://example.org:0/", "http://example.org:99999/", "http://example.org:x/", "http://[::1",
        "http://[example.org]/", "http://exa%6dple.org/", "http://.example.org/", "http://a..b/",
        "http://-a.example/", "http://*/", "http://[v1.x]/", "https://example.org/" + "a" * 2000,
    ],
)  # fmt: skip
def test_what_is_no_plain_url_is_refused_in_words_without_it(url):
    with pytest.raises(UrlRefused) as refused:
        target_of(url)
    assert str(refused.value).startswith("expected")
    assert "pw" not in str(refused.value)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "localhost", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1",
        "169.254.169.254", "224.0.0.1", "255.255.255.255", "192.0.0.192", "168.63.129.16",
        "198.18.0.1", "[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]",
        "[ff02::1]", "[64:ff9b:1::1]", "[2001:db8::1]", "[3fff::1]", "[5f00::1]",
    ],
)  # fmt: skip
def test_a_private_or_reserved_address_is_never_called(host):
    with pytest.raises(AddressRefused):
        exchange("POST", f"http://{host}:9/", body=b"", headers={}, limits=LIMITS)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "::ffff:8.8.8.8"])
def test_a_public_address_is_public(address):
    assert is_public(address)


def test_a_name_with_many_addresses_has_the_time_of_one(monkeypatch):
    """Each answers "no" just before its time is over: together they have no more of it."""
    dialled = []
    clock = iter(range(1000))

    class Slow(socket.socket):
        def connect(self, where):
            dialled.append(self.gettimeout())
            raise ConnectionRefusedError

    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 80))] * 500
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    monkeypatch.setattr(socket, "socket", Slow)
    monkeypatch.setattr("outbound.vetted.monotonic", lambda: next(clock) * 0.3, raising=False)
    with pytest.raises(Unreachable) as raised:
        exchange("POST", "http://many.example/", body=b"", headers={}, limits=LIMITS)
    assert raised.value.late
    assert 1 <= len(dialled) <= 3
    assert all(0 < each <= LIMITS.timeout for each in dialled)


def test_a_slow_resolver_takes_no_time_from_what_follows_the_connection(monkeypatch):
    clock = iter((0.0, 0.9))
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", server.getsockname())]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        monkeypatch.setattr("outbound.vetted.monotonic", lambda: next(clock))
        connection = connection_to(target_of("http://slow.example/"), private=True)
        connection.timeout = 1.0
        with connect(connection, private=True) as sock:
            assert sock.gettimeout() == 1.0
