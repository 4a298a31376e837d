"""What S3 itself decides, against a server that has policies."""

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from moto.server import ThreadedMotoServer

from backups.errors import ObjectKept, ObjectThere, TargetRefused
from backups.targets.config import S3Config
from backups.targets.s3 import S3Target


@pytest.fixture(scope="module")
def endpoint():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    ask("PUT", f"http://{host}:{port}/bucket")
    yield f"http://{host}:{port}"
    server.stop()


def ask(verb, url, body=None):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, method=verb, data=body, headers=headers)
    return urllib.request.urlopen(request).read().decode()


def opened(endpoint, bucket="bucket", prefix=""):
    return S3Target(S3Config(bucket, "AKIA", endpoint=endpoint, prefix=prefix), "secret", 5.0)


def test_an_object_is_created_only_if_there_is_none(endpoint):
    with opened(endpoint) as store:
        assert store.create("once", b"first") == 5
        with pytest.raises(ObjectThere):
            store.create("once", b"second")
        assert b"".join(store.get("once")) == b"first"
        store.delete("once")


def test_an_upload_that_fails_leaves_no_parts_behind(endpoint):
    def pieces():
        for _ in range(20):
            yield bytes(1024 * 1024)
        raise KeyError

    with opened(endpoint) as store, pytest.raises(KeyError):
        store.put("big", pieces())
    assert "<UploadId>" not in ask("GET", f"{endpoint}/bucket?uploads")


def test_all_names_are_below_the_prefix(endpoint):
    with opened(endpoint, prefix="ours/here") as store, opened(endpoint) as whole:
        store.put("a", [b"x"])
        assert [each.name for each in store.list()] == ["a"]
        assert [each.name for each in whole.list("ours/")] == ["ours/here/a"]
        store.delete("a")


def test_a_bucket_that_is_not_there_is_refused(endpoint):
    with opened(endpoint, "another") as store, pytest.raises(TargetRefused):
        store.put("a", [b"x"])


def test_an_object_that_may_not_be_deleted_is_kept(endpoint):
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Deny",
                "Principal": "*",
                "Action": "s3:DeleteObject",
                "Resource": "arn:aws:s3:::bucket/*",
            }
        ],
    }
    with opened(endpoint) as store:
        store.put("kept", [b"x"])
        ask("PUT", f"{endpoint}/bucket?policy", json.dumps(policy).encode())
        with pytest.raises(ObjectKept):
            store.delete("kept")
        assert store.size("kept") == 1
        ask("DELETE", f"{endpoint}/bucket?policy")


@contextmanager
def hearing() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server that takes everything, and the headers of what was put."""
    heard: list[dict[str, str]] = []

    class Taking(BaseHTTPRequestHandler):
        def do_PUT(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            heard.append({name.lower(): value for name, value in self.headers.items()})
            self._say("0")

        def do_HEAD(self):
            self._say("1")

        def _say(self, length):
            self.send_response(200)
            for name, value in (
                ("ETag", '"x"'),
                ("Last-Modified", "Mon, 30 Nov 2026 09:00:00 GMT"),
                ("Content-Length", length),
            ):
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_):
            """Nobody reads it."""

    server = HTTPServer(("127.0.0.1", 0), Taking)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", heard
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_object_is_sent_with_its_checksum_without_which_a_bucket_with_object_lock_takes_none():
    with hearing() as (address, heard), opened(address) as store:
        assert store.put("a", [b"x"]) == 1
    (headers,) = heard
    assert headers["x-amz-checksum-sha256"] == "LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE="
    assert "x-amz-checksum-sha256" in headers["authorization"]
