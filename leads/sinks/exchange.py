"""One HTTP exchange with an end: a deadline over all of it, a cap on the answer, no redirects."""

import json
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.exceptions import HTTPError
from urllib3.util import Timeout

from leads.errors import SinkAnswerRefused, SinkNotWired, SinkUnreachable
from leads.sinks.vetted import AnyPool, AnyPoolTLS, PublicPool, PublicPoolTLS


@dataclass(frozen=True, slots=True)
class Limits:
    """``timeout`` per wait and ``deadline`` over the exchange in seconds, ``size`` of an answer in bytes."""

    timeout: float
    deadline: float
    size: int
    private: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the HTTP code and the body, at most ``Limits.size`` bytes."""

    code: int
    body: bytes

    def parsed(self) -> Any:
        """The body as JSON. Raises ``SinkAnswerRefused``."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise SinkAnswerRefused("the answer is not JSON") from None


def exchange(
    verb: str, url: str, *, body: bytes, headers: Mapping[str, str], limits: Limits
) -> Answer:
    """Send one request and read its answer. Raises ``SinkError``; whether it took effect is then open."""
    pool, target = _pool(url, limits)
    deadline = _Deadline(limits.deadline)
    try:
        connection = pool._get_conn()
        deadline.watch(connection)
        answer = _talk(connection, verb, target, body, headers, limits)
        if deadline.passed:  # what was cut off can look complete
            raise TimeoutError
        return answer
    except (HTTPError, OSError, ValueError) as raised:
        late = "within the deadline" if deadline.passed else "that was complete"
        raise SinkUnreachable(f"no answer {late} ({type(raised).__name__})") from None
    finally:
        deadline.end()
        pool.close()


def _talk(
    connection: Any,
    verb: str,
    target: str,
    body: bytes,
    headers: Mapping[str, str],
    limits: Limits,
) -> Answer:
    timeout = Timeout(connect=limits.timeout, read=limits.timeout)
    connection.timeout = timeout.connect_timeout
    try:
        connection.connect()
        connection.sock.settimeout(limits.timeout)
        connection.request(
            verb, target, body=body, headers=headers, preload_content=False, decode_content=False
        )
        response = connection.getresponse()
        read = bytearray()
        while piece := response.read(min(16384, limits.size + 1 - len(read)), decode_content=False):
            read += piece
            if len(read) > limits.size:
                raise SinkAnswerRefused(f"the answer is longer than {limits.size} bytes")
        return Answer(response.status, bytes(read))
    finally:
        connection.close()


def _pool(url: str, limits: Limits) -> tuple[HTTPConnectionPool, str]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise SinkNotWired("LEADS_HTTP_URL is no URL") from None
    if parts.scheme not in {"http", "https"} or not host or parts.username is not None:
        raise SinkNotWired("LEADS_HTTP_URL must be http(s) with a host and without a password")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    tls = parts.scheme == "https"
    if limits.private:
        return (AnyPoolTLS(host, port) if tls else AnyPool(host, port)), target
    return (PublicPoolTLS(host, port) if tls else PublicPool(host, port)), target


class _Deadline:
    """Ends a connection from outside when the time is over: a peer that drips bytes meets it too."""

    def __init__(self, seconds: float) -> None:
        self.passed = False
        self._connection: HTTPConnection | None = None
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def watch(self, connection: Any) -> None:
        self._connection = connection

    def end(self) -> None:
        self._timer.cancel()

    def _cut(self) -> None:
        self.passed = True
        sock = getattr(self._connection, "sock", None)
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # gone already
