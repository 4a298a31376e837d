"""Names to addresses, within a time: the system's resolver has none that we could set."""

import socket
import threading
from typing import Any

Found = list[tuple[Any, Any, int, str, Any]]


def resolve(host: str, port: int, *, within: float) -> Found:
    """What ``getaddrinfo`` answers. Raises ``TimeoutError`` after ``within`` seconds, else what it raises.

    A resolver that hangs keeps its thread, a daemon, until it gives up by itself.
    """
    answer: list[Found] = []
    raised: list[BaseException] = []

    def ask() -> None:
        try:
            answer.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except BaseException as error:
            raised.append(error)

    asking = threading.Thread(target=ask, name="outbound-resolve", daemon=True)
    asking.start()
    asking.join(within)
    if raised:
        raise raised[0]
    if not answer:
        raise TimeoutError("no answer of the resolver in time")
    return answer[0]
