"""TLS to a vetted address: the certificate has to be the URL's host's, and trusted; no proxy is asked."""

import ssl
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from outbound.errors import Unreachable
from outbound.exchange import Limits, exchange
from tests.support.certificates import certify
from tests.support.mail import trusting

LIMITS = Limits(timeout=2, deadline=4, size=100, private=True)


class Answering(BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.hosts.append(self.headers["Host"])
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Quiet(HTTPServer):
    hosts: list[str]

    def handle_error(self, *_):
        """A client that does not trust us is what is tested."""


@pytest.fixture
def certificate(tmp_path):
    return certify(tmp_path)


@pytest.fixture
def server(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    made = Quiet(("127.0.0.1", 0), Answering)
    made.hosts = []
    made.socket = context.wrap_socket(made.socket, server_side=True)
    serving = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    yield made
    made.shutdown()
    serving.join()
    made.server_close()


def call(server, host):
    url = f"https://{host}:{server.server_port}/"
    return exchange("POST", url, body=b"x", headers={}, limits=LIMITS)


def test_a_trusted_certificate_of_the_host_is_taken_and_the_environments_proxy_is_not(
    server, certificate, monkeypatch
):
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with trusting(certificate):
        assert call(server, "localhost").code == 204
    assert server.hosts == [f"localhost:{server.server_port}"]


def test_a_certificate_that_nobody_vouches_for_is_refused(server):
    with pytest.raises(Unreachable, match="SSLCertVerificationError"):
        call(server, "localhost")
    assert server.hosts == []


def test_a_certificate_of_another_host_at_the_same_address_is_refused(
    server, certificate, monkeypatch
):
    at = (2, 1, 6, "", ("127.0.0.1", server.server_port))
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [at])
    with trusting(certificate), pytest.raises(Unreachable, match="SSLCertVerificationError"):
        call(server, "other.example")
    assert server.hosts == []
