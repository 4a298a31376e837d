"""The client's half of PostgreSQL's wire protocol: just enough to see which statements it asks for."""

import re
import struct

NEGOTIATIONS = {
    80877103,
    80877104,
}  # TLS? GSSAPI? The answer is one byte, and then the client starts anew
CANCEL = 80877102


class Asked:
    """Fed with the bytes of one client; tells whether a statement begins in them that matches."""

    def __init__(self) -> None:
        self._rest = b""
        self._started = False
        self._opaque = False
        self._prepared: dict[bytes, bytes] = {}

    @property
    def unfinished(self) -> int:
        """How many bytes of a message that is not whole yet have come in."""
        return len(self._rest)

    def feed(self, chunk: bytes, words: re.Pattern[bytes] | None) -> bool:
        """Take in the next bytes. Whether one of the messages that they complete asks for ``words``."""
        self._rest += chunk
        found = False
        while not self._opaque and (message := self._next()) is not None:
            kind, body = message
            statement = self._statement(kind, body)
            found = found or bool(words and statement is not None and words.search(statement))
        return found

    def _next(self) -> tuple[bytes, bytes] | None:
        """The next whole message as (type, body); the first ones of a connection have no type."""
        head = 1 if self._started else 0
        if len(self._rest) < head + 4:
            return None
        (length,) = struct.unpack_from("!I", self._rest, head)
        if len(self._rest) < head + length:
            return None
        kind, body = self._rest[:head], self._rest[head + 4 : head + length]
        self._rest = self._rest[head + length :]
        if not self._started:
            (code,) = struct.unpack_from("!I", body)
            self._opaque = code == CANCEL
            self._started = code not in NEGOTIATIONS
        return kind, body

    def _statement(self, kind: bytes, body: bytes) -> bytes | None:
        """The text a message asks to run: of a simple query, or of the prepared statement that is bound."""
        match kind:
            case b"Q":
                return body.rstrip(b"\0")
            case b"P":
                name, text, _ = body.split(b"\0", 2)
                self._prepared[name] = text
            case b"B":
                _, name, _ = body.split(b"\0", 2)
                return self._prepared.get(name)
        return None
