"""Who asks: the peer, unless a proxy that is trusted says who."""

import pytest
from django.test import RequestFactory

from accounts.checks import check_settings
from accounts.clients import client_of

PROXY = "10.0.0.5"


def who(peer, said=None):
    meta = {} if said is None else {"HTTP_X_FORWARDED_FOR": said}
    return client_of(RequestFactory().get("/", REMOTE_ADDR=peer, **meta))


@pytest.mark.parametrize(
    ("trusted", "peer", "said", "client"),
    [
        ((), "192.0.2.7", None, "192.0.2.7"),
        (("10.0.0.0/8",), "::ffff:10.0.0.5", "192.0.2.9", "192.0.2.9"),
        ((), "192.0.2.7", "198.51.100.1", "192.0.2.7"),
        (("10.0.0.0/8",), "192.0.2.7", "198.51.100.1", "192.0.2.7"),
        (("10.0.0.0/8",), PROXY, "198.51.100.1", "198.51.100.1"),
        (("10.0.0.0/8",), PROXY, "203.0.113.9, 198.51.100.1", "198.51.100.1"),
        (("10.0.0.0/8",), PROXY, "203.0.113.9, 198.51.100.1, 10.1.1.1", "198.51.100.1"),
        (("10.0.0.0/8",), PROXY, "10.1.1.1", ""),
        (("10.0.0.0/8",), PROXY, None, ""),
        (("10.0.0.0/8",), PROXY, "nonsense", ""),
        ((), "", "198.51.100.1", ""),
        (("unix",), "", "198.51.100.1", "198.51.100.1"),
        ((), "2001:db8:1:2:3:4:5:6", None, "2001:db8:1:2::/64"),
        ((), "2001:db8:1:2:ffff::1", None, "2001:db8:1:2::/64"),
        ((), "::ffff:192.0.2.7", None, "192.0.2.7"),
    ],
)
def test_the_client_is_the_peer_or_what_a_trusted_proxy_says(settings, trusted, peer, said, client):
    settings.ACCOUNTS_TRUSTED_PROXIES = trusted
    assert who(peer, said) == client


def test_the_check_names_what_is_wrong_with_the_settings(settings):
    assert check_settings() == []
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert [each.id for each in check_settings()] == ["accounts.W001"]
    settings.ACCOUNTS_TRUSTED_PROXIES = ("10.0.0.1/8",)
    settings.ACCOUNTS_LINK_MINUTES = 0
    assert [each.id for each in check_settings()] == ["accounts.E001"]
    settings.ACCOUNTS_LINK_MINUTES = 30
    (wrong,) = check_settings()
    assert "must hold networks such as 10.0.0.0/8" in wrong.msg


def test_the_check_warns_of_limits_that_outlast_the_links_that_used_them_up(settings):
    settings.ACCOUNTS_WINDOW_MINUTES = settings.ACCOUNTS_LINK_MINUTES = 20
    assert check_settings() == []
    settings.ACCOUNTS_LINK_MINUTES = 19
    assert [each.id for each in check_settings()] == ["accounts.W002"]
