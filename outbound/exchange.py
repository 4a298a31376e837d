"""One HTTP exchange with an end: a deadline over all of it, a cap on the answer, no redirects."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any

from urllib3.exceptions import HTTPError
from urllib3.util import Timeout

from outbound.deadline import Deadline
from outbound.errors import AnswerTooLong, Unreachable
from outbound.urls import Target, target_of
from outbound.vetted import connection_to

PIECE = 16384
MOST_HEADERS = 100
LONGEST_HEADER = 1000


@dataclass(frozen=True, slots=True)
class Limits:
    """``timeout`` per wait and ``deadline`` over the exchange in seconds, ``size`` of an answer in bytes.

    ``private``: private addresses may be called. ``cut``: of a longer answer the first ``size`` bytes are
    taken and the rest is left unread; otherwise it is refused.
    """

    timeout: float
    deadline: float
    size: int
    private: bool
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the HTTP code, the body of at most ``Limits.size`` bytes, headers by lower-cased name.

    ``cut``: the body was longer. Of the headers the first hundred are kept, 1000 characters of each.
    """

    code: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


def exchange(
    verb: str, url: str, *, body: bytes, headers: Mapping[str, str], limits: Limits
) -> Answer:
    """Send one request and read its answer, whatever its code. A redirect is an answer like any other.

    Raises ``OutboundError``. No sentence of its own or of what it raises quotes the URL or the answer.
    """
    target = target_of(url)
    connection = connection_to(target, private=limits.private)
    with Deadline(limits.deadline, connection) as deadline:
        try:
            answer = _talk(connection, verb, target, body, headers, limits)
        except (HTTPError, HTTPException, OSError, ValueError) as raised:
            late = deadline.passed
            said = "within the deadline" if late else "that was complete"
            raise Unreachable(
                f"no answer {said} ({type(raised).__name__})", late=late or _is_late(raised)
            ) from None
        if deadline.passed:  # what was cut off can look complete
            raise Unreachable("no answer within the deadline", late=True)
        return answer


def _is_late(raised: BaseException) -> bool:
    return isinstance(raised, TimeoutError) or "Timeout" in type(raised).__name__


def _talk(
    connection: Any,
    verb: str,
    target: Target,
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
            verb,
            target.path,
            body=body,
            headers=headers,
            preload_content=False,
            decode_content=False,
        )
        response = connection.getresponse()
        read, over = _read(response, limits)
        return Answer(response.status, read, _headers_of(response), over)
    finally:
        connection.close()


def _read(response: Any, limits: Limits) -> tuple[bytes, bool]:
    """The body up to the cap, and whether there was more."""
    read = bytearray()
    while piece := response.read(min(PIECE, limits.size + 1 - len(read)), decode_content=False):
        read += piece
        if len(read) > limits.size:
            if limits.cut:
                return bytes(read[: limits.size]), True
            raise AnswerTooLong(f"the answer is longer than {limits.size} bytes")
    return bytes(read), False


def _headers_of(response: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in list(response.headers.items())[:MOST_HEADERS]:
        found.setdefault(name.lower(), value[:LONGEST_HEADER])
    return found
