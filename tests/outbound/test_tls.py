"""TLS to a pinned address: the certificate is checked against the URL's name, which SNI and Host carry too."""

import datetime as dt
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from outbound.errors import Unreachable
from outbound.exchange import Limits, exchange

LIMITS = Limits(timeout=5, deadline=5, size=1000, private=True)


def certificate(name, path):
    """A certificate of ``name`` that signs itself, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    pem = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain)
    path.write_bytes(pem + made.public_bytes(encoding))
    return path


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Serves as hook.example, which the machine trusts and resolves to loopback; remembers what it was asked for."""
    asked = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked["host"] = self.headers["Host"]
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args):
            pass

    made = certificate("hook.example", tmp_path / "server.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made)
    context.sni_callback = lambda sock, name, context: asked.update(sni=name)
    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setenv("SSL_CERT_FILE", str(made))
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.server_port))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    yield server.server_port, asked
    server.shutdown()
    server.server_close()
    thread.join()


def post(url):
    return exchange("POST", url, body=b"{}", headers={}, limits=LIMITS)


def test_the_name_of_the_url_is_asked_for_and_checked(server):
    port, asked = server
    assert post(f"https://hook.example:{port}/").code == 204
    assert asked == {"sni": "hook.example", "host": f"hook.example:{port}"}


def test_a_certificate_of_another_name_is_refused(server):
    port, asked = server
    with pytest.raises(Unreachable) as refused:
        post(f"https://other.example:{port}/")
    assert "host" not in asked
    assert "other.example" not in str(refused.value)


def test_a_certificate_that_nobody_vouches_for_is_refused(server, monkeypatch):
    port, asked = server
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(Unreachable):
        post(f"https://hook.example:{port}/")
    assert "host" not in asked


def test_no_proxy_of_the_environment_is_asked(server, monkeypatch):
    port, asked = server
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert post(f"https://hook.example:{port}/").code == 204
    assert asked["host"] == f"hook.example:{port}"
