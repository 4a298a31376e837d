"""Connections that go to the address that was checked, and to no private one."""

import ipaddress
import socket

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from leads.errors import SinkAddressRefused

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# IPv6 ranges whose addresses stand for an IPv4 one.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")


def is_public(text: str) -> bool:
    """Whether an IP address belongs to the public internet, whichever way it is written."""
    address: Address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = _embedded(address)
        if inner is not None:
            return is_public(str(inner))
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _NAT64 or address in _COMPATIBLE:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


def connect(connection: HTTPConnection, *, private: bool) -> socket.socket:
    """A socket to one of the host's addresses, every one of which was checked first.

    A name with any private address is refused as a whole. The name is resolved once: what was checked
    is what is connected to, while Host and the certificate's name stay the URL's.
    """
    host = connection.host.strip("[]")
    try:
        found = socket.getaddrinfo(host, connection.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as raised:
        gone = raised if isinstance(raised, socket.gaierror) else socket.gaierror("no such name")
        raise NameResolutionError(host, connection, gone) from None
    if not private and not all(is_public(str(where[0])) for *_, where in found):
        raise SinkAddressRefused("the address is private; LEADS_HTTP_ALLOW_PRIVATE allows it")
    timeout = connection.timeout if isinstance(connection.timeout, (int, float)) else None
    for family, kind, protocol, _, where in found:
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(timeout)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.connect(where)
        except TimeoutError:
            sock.close()
            raise ConnectTimeoutError(connection, "no connection in time") from None
        except OSError:
            sock.close()
        else:
            return sock
    raise NewConnectionError(connection, "no address answered")


class _Public(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return connect(self, private=False)


class _PublicTLS(HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        return connect(self, private=False)


class _Any(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return connect(self, private=True)


class _AnyTLS(HTTPSConnection):
    def _new_conn(self) -> socket.socket:
        return connect(self, private=True)


class PublicPool(HTTPConnectionPool):
    ConnectionCls = _Public


class PublicPoolTLS(HTTPSConnectionPool):
    ConnectionCls = _PublicTLS


class AnyPool(HTTPConnectionPool):
    ConnectionCls = _Any


class AnyPoolTLS(HTTPSConnectionPool):
    ConnectionCls = _AnyTLS
