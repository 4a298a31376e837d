"""A collection of a WebDAV server, over TLS."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

from urllib3.exceptions import HTTPError

from backups.errors import (
    ObjectKept,
    ObjectMissing,
    TargetError,
    TargetFull,
    TargetRefused,
    TargetUnreachable,
)
from backups.targets.config import WebdavConfig
from backups.targets.names import UNFINISHED, checked, is_part, unfinished
from backups.targets.open_target import PIECE, OpenTarget
from backups.targets.store import Stored
from backups.targets.walking import Entry, walk
from outbound.urls import target_of
from outbound.vetted import connection_to

DAV = "{DAV:}"
ASKED = (
    b'<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop><resourcetype/>'
    b"<getcontentlength/></prop></propfind>"
)
ENOUGH = 65536


def opened(config: WebdavConfig, secret: str, timeout: float, volume: str) -> OpenTarget:
    """Connects to nothing yet."""
    return WebdavTarget(config, secret, timeout)


class WebdavTarget(OpenTarget):
    """One kept connection, to private addresses too: a store in the same house has one. Follows no redirect."""

    def __init__(self, config: WebdavConfig, secret: str, timeout: float) -> None:
        self._url = config.url.rstrip("/")
        self._where = target_of(self._url)
        self._root = self._where.path.rstrip("/")
        self._ca, self._timeout = config.ca, timeout
        login = b64encode(f"{config.user}:{secret}".encode()).decode("ascii")
        self._headers = {"Authorization": f"Basic {login}", "User-Agent": "hubqueue"}
        self._connection: Any = None
        self._made: set[str] = set()

    def put(self, name: str, pieces: Iterable[bytes]) -> int:
        directory = checked(name).rpartition("/")[0]
        temporary = "/".join(filter(None, [directory, unfinished()]))
        self._make(directory)
        raised: list[BaseException] = []
        try:
            self._send("PUT", temporary, body=_flow(pieces, raised), chunked=True)
            size = self._size(temporary)
            moved = {"Destination": f"{self._url}/{name}", "Overwrite": "T"}
            self._send("MOVE", temporary, headers=moved)
        except BaseException:
            self._forget(temporary)
            if raised:
                raise raised[0] from None
            raise
        return size

    def get(self, name: str) -> Iterator[bytes]:
        response = self._answer("GET", checked(name))
        whole = response.headers.get("content-length")
        read = 0
        try:
            while True:
                with _mapped():
                    piece = response.read(PIECE, decode_content=False)
                if not piece:
                    break
                read += len(piece)
                yield piece
        finally:
            if str(read) != whole:
                self.close()  # with what is still on its way
        if whole is not None and str(read) != whole:
            raise TargetUnreachable("the object came shorter than the target says it is")

    def list(self, prefix: str = "") -> Iterator[Stored]:
        return walk(self._entries, prefix)

    def size(self, name: str) -> int:
        return self._size(checked(name))

    def delete(self, name: str) -> None:
        try:
            self._send("DELETE", checked(name), refused=ObjectKept)
        except ObjectMissing:
            pass

    def sweep(self, prefix: str) -> int:
        return self._sweep(checked(prefix))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _size(self, name: str) -> int:
        for href, directory, size in self._found(name, depth=0):
            if not directory and href == f"{self._root}/{name}":
                return size
        raise ObjectMissing("there is no object of this name")

    def _make(self, directory: str) -> None:
        """Make a collection, and what is above it, unless it is there."""
        if directory in self._made:
            return
        above, _, last = directory.rpartition("/")
        if last:
            self._make(above)
        # The root as well: the first archive finds nothing there.
        self._send("MKCOL", f"{directory}/" if directory else "", also={405})
        self._made.add(directory)

    def _forget(self, temporary: str) -> None:
        self.close()
        self._made.clear()
        try:
            self._send("DELETE", temporary)
        except TargetError:
            pass  # a sweep finds it

    def _entries(self, directory: str) -> Iterable[Entry]:
        here = f"{self._root}/{directory}".rstrip("/")
        try:
            return [
                Entry(href.rpartition("/")[2], is_directory, size)
                for href, is_directory, size in self._found(f"{directory}/", depth=1)
                if href.rpartition("/")[0] == here
            ]
        except ObjectMissing:
            return []

    def _found(self, name: str, *, depth: int) -> Sequence[tuple[str, bool, int]]:
        """What a PROPFIND answers: path without a slash at its end, whether it is a collection, size."""
        headers = {"Depth": str(depth), "Content-Type": "application/xml"}
        response = self._answer("PROPFIND", name.lstrip("/"), body=ASKED, headers=headers)
        found = []
        try:
            with _mapped():
                # Element by element; expat itself refuses entities that multiply.
                for _, each in ET.iterparse(response):  # noqa: S314
                    if each.tag == f"{DAV}response":
                        found.append(_entry(each))
                        each.clear()
        except TargetError:
            self.close()
            raise
        except (ET.ParseError, ValueError):
            self.close()
            raise TargetUnreachable("the server's list cannot be read") from None
        return found

    def _sweep(self, directory: str) -> int:
        swept = 0
        for each in self._entries(directory):
            if each.directory and is_part(each.name):
                swept += self._sweep(f"{directory}/{each.name}")
            elif each.name.startswith(UNFINISHED):
                self._send("DELETE", f"{directory}/{each.name}", refused=ObjectKept)
                swept += 1
        return swept

    def _send(self, verb: str, name: str, **more: Any) -> None:
        """A request whose answer's body does not matter."""
        response = self._answer(verb, name, **more)
        with _mapped():
            rest = response.read(ENOUGH, decode_content=False)
        if len(rest) >= ENOUGH:
            self.close()

    def _answer(
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
        try:
            with _mapped():
                connection = self._connected()
                connection.request(
                    verb,
                    f"{self._root}/{name}",
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


def _flow(pieces: Iterable[bytes], raised: list[BaseException]) -> Iterator[bytes]:
    """The pieces that hold something: an empty chunk would be the end. What they raise is kept apart."""
    try:
        for piece in pieces:
            if piece:
                yield piece
    except Exception as theirs:
        raised.append(theirs)
        raise


def _entry(each: ET.Element) -> tuple[str, bool, int]:
    href = unquote(urlsplit(each.findtext(f"{DAV}href") or "").path).rstrip("/")
    directory = each.find(f".//{DAV}resourcetype/{DAV}collection") is not None
    return href, directory, int(each.findtext(f".//{DAV}getcontentlength") or 0)


@contextmanager
def _mapped() -> Iterator[None]:
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
