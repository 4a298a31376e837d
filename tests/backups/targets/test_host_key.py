"""A server of SFTP is the one that is expected, or is told nothing."""

from dataclasses import replace

import paramiko
import pytest

from backups.errors import TargetRefused


@pytest.fixture
def sftp(place):
    if place.kind != "sftp":
        pytest.skip("of SFTP")
    return place


def test_a_fingerprint_does_as_well_as_the_key(sftp, places):
    known = replace(sftp, config=sftp.config | {"host_key": places.fingerprint})
    with known.open() as opened:
        assert opened.put("a", [b"x"]) == 1
        opened.delete("a")


def test_another_host_key_is_refused_before_the_secret_is_sent(sftp, monkeypatch):
    other = paramiko.ECDSAKey.generate()
    monkeypatch.setattr(paramiko.Transport, "auth_password", lambda *_: pytest.fail("sent"))
    for key in (other.fingerprint, f"{other.get_name()} {other.get_base64()}"):
        with pytest.raises(TargetRefused, match="host key"):
            replace(sftp, config=sftp.config | {"host_key": key}).open()
