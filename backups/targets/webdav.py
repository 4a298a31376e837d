"""A collection of a WebDAV server, over TLS."""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

from backups.errors import ObjectKept, ObjectMissing, TargetError, TargetUnreachable
from backups.targets.config import WebdavConfig
from backups.targets.names import checked, unfinished
from backups.targets.open_target import PIECE, OpenTarget
from backups.targets.store import Stored
from backups.targets.walking import Entry, unfinished_below, walk
from backups.targets.webdav_requests import Requests, mapped

DAV = "{DAV:}"
ASKED = (
    b'<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop><resourcetype/>'
    b"<getcontentlength/></prop></propfind>"
)


def opened(config: WebdavConfig, secret: str, timeout: float, volume: str) -> OpenTarget:
    """Connects to nothing yet."""
    return WebdavTarget(config, secret, timeout)


class WebdavTarget(OpenTarget):
    """Objects are written beside their place and moved there."""

    def __init__(self, config: WebdavConfig, secret: str, timeout: float) -> None:
        self._requests = Requests(config, secret, timeout)
        self._root = self._requests.root
        self._made: set[str] = set()

    def put(self, name: str, pieces: Iterable[bytes]) -> int:
        directory = checked(name).rpartition("/")[0]
        temporary = "/".join(filter(None, [directory, unfinished()]))
        self._make(directory)
        raised: list[BaseException] = []
        try:
            self._requests.send("PUT", temporary, body=_flow(pieces, raised), chunked=True)
            size = self._size(temporary)
            moved = {"Destination": f"{self._requests.url}/{name}", "Overwrite": "T"}
            self._requests.send("MOVE", temporary, headers=moved)
        except BaseException:
            self._forget(temporary)
            if raised:
                raise raised[0] from None
            raise
        return size

    def get(self, name: str) -> Iterator[bytes]:
        response = self._requests.answer("GET", checked(name))
        whole = response.headers.get("content-length")
        read = 0
        try:
            while True:
                with mapped():
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
            self._requests.send("DELETE", checked(name), refused=ObjectKept)
        except ObjectMissing:
            pass

    def sweep(self, prefix: str) -> int:
        swept = 0
        for directory, last in unfinished_below(self._entries, checked(prefix)):
            self._requests.send("DELETE", f"{directory}/{last}", refused=ObjectKept)
            swept += 1
        return swept

    def close(self) -> None:
        self._requests.close()

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
        self._requests.send("MKCOL", f"{directory}/" if directory else "", also={405})
        self._made.add(directory)

    def _forget(self, temporary: str) -> None:
        self.close()
        self._made.clear()
        try:
            self._requests.send("DELETE", temporary)
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
        response = self._requests.answer("PROPFIND", name.lstrip("/"), body=ASKED, headers=headers)
        found = []
        try:
            with mapped():
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
