"""What S3 itself decides, against a server that has policies."""

import json
import urllib.request

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
