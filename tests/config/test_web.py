"""What the web server answers by default."""

import pytest
from django.conf import settings
from django.test import Client


def test_the_root_leads_to_the_admin(client: Client) -> None:
    assert client.get("/").headers["Location"] == "/admin/"


@pytest.mark.django_db
def test_pages_carry_a_policy_without_inline_scripts_and_styles(client: Client) -> None:
    policy = client.get("/admin/login/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


def test_static_files_are_served_without_debug(client: Client) -> None:
    assert settings.DEBUG is False
    answer = client.get("/static/admin/css/base.css")
    assert answer.status_code == 200
    assert b"".join(answer).startswith(b"/*")  # type: ignore[arg-type]
