"""Connections that go to the address that was checked, and to no private one."""

import socket
from time import monotonic
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from outbound.addresses import is_public
from outbound.errors import AddressRefused
from outbound.resolve import Found, resolve
from outbound.urls import Target

WITHOUT_A_LIMIT = 30.0


def connection_to(target: Target, *, private: bool) -> Any:
    """A connection that is not open yet. Its pool brings the defaults of TLS; certificates are verified."""
    pool = _POOLS[target.tls, private](target.host, target.port)
    try:
        return pool._get_conn()
    finally:
        pool.close()


def connect(connection: HTTPConnection, *, private: bool) -> socket.socket:
    """A socket to one of the host's addresses, every one of which was checked first.

    A name with any private address is refused as a whole. The name is resolved once: what was checked
    is what is connected to, while Host and the certificate's name stay the URL's. The connection's timeout
    is for all of this together: a name may have thousands of addresses that each take their time to refuse.
    """
    given = connection.timeout
    timeout = float(given) if isinstance(given, (int, float)) else WITHOUT_A_LIMIT
    end = monotonic() + timeout
    found = _look_up(connection, timeout)
    if not private and not all(is_public(str(where[0])) for *_, where in found):
        raise AddressRefused("the host's address is private or reserved")
    for family, kind, protocol, _, where in found:
        left = end - monotonic()
        if left <= 0:
            raise ConnectTimeoutError(connection, "no connection in time")
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(left)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.connect(where)
        except TimeoutError:
            sock.close()
            raise ConnectTimeoutError(connection, "no connection in time") from None
        except OSError:
            sock.close()
        else:
            sock.settimeout(timeout)  # of what follows, each has the whole
            return sock
    raise NewConnectionError(connection, "no address answered")


def _look_up(connection: HTTPConnection, timeout: float) -> Found:
    host = connection.host.strip("[]")
    try:
        return resolve(host, connection.port, within=timeout)
    except TimeoutError:
        raise ConnectTimeoutError(connection, "no address in time") from None
    except (OSError, UnicodeError) as raised:
        gone = raised if isinstance(raised, socket.gaierror) else socket.gaierror("no such name")
        raise NameResolutionError(host, connection, gone) from None


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


class _PublicPool(HTTPConnectionPool):
    ConnectionCls = _Public


class _PublicPoolTLS(HTTPSConnectionPool):
    ConnectionCls = _PublicTLS


class _AnyPool(HTTPConnectionPool):
    ConnectionCls = _Any


class _AnyPoolTLS(HTTPSConnectionPool):
    ConnectionCls = _AnyTLS


# By (TLS, private addresses too).
_POOLS: dict[tuple[bool, bool], type[HTTPConnectionPool]] = {
    (False, False): _PublicPool,
    (True, False): _PublicPoolTLS,
    (False, True): _AnyPool,
    (True, True): _AnyPoolTLS,
}
