"""Which URLs are called at all, decided from how they are written."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from outbound.addresses import Address, embedded
from outbound.errors import AddressRefused, UrlRefused

LONGEST = 2000

_VISIBLE = re.compile(r"[\x21-\x7e]+")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
# What some resolver reads as a number: an address, whatever the labels before it.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


@dataclass(frozen=True, slots=True)
class Target:
    """A URL in the parts a connection needs. ``host`` is a name or an address without brackets."""

    tls: bool
    host: str
    port: int | None
    path: str


def target_of(url: str) -> Target:
    """The parts of an http(s) URL.

    Raises ``UrlRefused`` for anything that is none, and ``AddressRefused`` for a host that is an address in
    an odd spelling (one number, octal, hexadecimal, a zone, an IPv4 address inside an IPv6 one) or a name
    with a dot at its end. Resolves nothing.
    """
    parts = _split(url)
    host = parts.hostname or ""
    if parts.netloc.rpartition("@")[2].startswith("["):
        _refuse_odd_v6(host)
    else:
        _refuse_odd_name(host)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme == "https", host, parts.port, path)


def _split(url: str) -> SplitResult:
    if len(url) > LONGEST or not _VISIBLE.fullmatch(url) or "\\" in url:
        raise UrlRefused(
            f"expected a URL of up to {LONGEST} visible ASCII characters without a backslash; percent-encode"
            " what is beside them, and write a host with other letters as xn--..."
        )
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError:
        raise UrlRefused("expected a URL such as https://example.org/path") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise UrlRefused("expected a URL that begins with https:// or http:// and names a host")
    if "@" in parts.netloc:
        raise UrlRefused("expected a URL without a user name and a password")
    if port == 0:
        raise UrlRefused("expected a port from 1 to 65535")
    return parts


def _refuse_odd_name(host: str) -> None:
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            ipaddress.IPv4Address(host)
        except ValueError:
            raise AddressRefused(
                "an IPv4 address is called only as four plain decimal numbers"
            ) from None
        return
    if host.endswith("."):
        raise AddressRefused("a host is written without a dot at its end")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise UrlRefused("expected a host of letters, digits, hyphens and dots")


def _refuse_odd_v6(host: str) -> None:
    if "%" in host:
        raise AddressRefused("an IPv6 address is called only without a zone")
    try:
        address: Address = ipaddress.IPv6Address(host)
    except ValueError:
        raise UrlRefused("expected an IPv6 address between the brackets") from None
    if embedded(address) is not None and int(address) > 1:  # :: and ::1 are themselves
        raise AddressRefused("an IPv4 address inside an IPv6 one is not called; write it plainly")
