"""Requests of WebDAV over one kept connection, and what servers answer as errors of a target."""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any

from urllib3.exceptions import HTTPError

from backups.errors import (
    ObjectMissing,
    TargetError,
    TargetFull,
    TargetRefused,
    TargetUnreachable,
)
from backups.targets.config import WebdavConfig
from outbound.urls import target_of
from outbound.vetted import connection_to

ENOUGH = 65536


class Requests:
    """To one collection, over TLS, to private addresses too: a store in the same house has one.

    Follows no redirect. ``root`` is the path of the collection, ``url`` all of it.
    """

    def __init__(self, config: WebdavConfig, secret: str, timeout: float) -> None:
        self.url = config.url.rstrip("/")
        self._where = target_of(self.url)
        self.root = self._where.path.rstrip("/")
        self._ca, self._timeout = config.ca, timeout
        login = b64encode(f"{config.user}:{secret}".encode()).decode("ascii")
        self._headers = {"Authorization": f"Basic {login}", "User-Agent": "hubqueue"}
        self._connection: Any = None

    def close(self) -> None:
        """End the connection; the next request opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def send(self, verb: str, name: str, **more: Any) -> None:
        """A request whose answer's body does not matter."""
        response = self.answer(verb, name, **more)
        with mapped():
            rest = response.read(ENOUGH, decode_content=False)
        if len(rest) >= ENOUGH:
            self.close()

    def answer(
        self,
        verb: str,
        name: str,
        *,
        body: Any = None,
        headers: dict[str, str] | None = None,
        chunked: bool = False,
        refused: type[TargetError] = TargetRefused,
        also: frozenset[int] | set[int] = frozenset(),
    ) -> Any:
        """The response, its body unread. A code that is no success and not in ``also`` is raised as an error."""
        try:
            with mapped():
                connection = self._connected()
                connection.request(
                    verb,
                    f"{self.root}/{name}",
                    body=body,
                    headers=self._headers | (headers or {}),
                    chunked=chunked,
                    preload_content=False,
                    decode_content=False,
                )
                response = connection.getresponse()
            if not 200 <= response.status < 300 and response.status not in also:
                raise _error(response.status, refused)
        except BaseException:
            self.close()
            raise
        return response

    def _connected(self) -> Any:
        """The connection: a new one when there is none, when the server ended it, or when it is half read."""
        if self._connection is not None and not self._connection.is_connected:
            self.close()
        if self._connection is None:
            connection = connection_to(self._where, private=True)
            connection.timeout = self._timeout
            if self._ca:
                connection.ca_cert_data = self._ca
            connection.connect()
            connection.sock.settimeout(self._timeout)
            self._connection = connection
        return self._connection


@contextmanager
def mapped() -> Iterator[None]:
    """Errors of the library and of sockets as errors of a target."""
    try:
        yield
    except (HTTPError, HTTPException, OSError) as raised:
        if "certificate" in str(raised).lower():
            raise TargetRefused("the server's certificate is not trusted") from None
        raise TargetUnreachable("the server did not answer, or was cut off") from None


def _error(code: int, refused: type[TargetError]) -> TargetError:
    if code == 404:
        return ObjectMissing("there is no object of this name")
    if code == 507 or code == 413:
        return TargetFull(f"there is no room left at the target (HTTP {code})")
    if code == 401:
        return TargetRefused("the user or the password is not accepted")
    if code in {408, 425, 429} or code >= 500:
        return TargetUnreachable(f"the server is out of order (HTTP {code})")
    return refused(f"the server does not allow this (HTTP {code})")
