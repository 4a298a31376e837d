"""A TCP proxy that can stop answering without closing anything."""

import selectors
import socket
import threading
from types import TracebackType
from typing import Self


class Proxy:
    """`with Proxy(port) as proxy: proxy.freeze()`: connections are taken and bytes swallowed, nothing comes back."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._frozen = threading.Event()
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join(5)

    def freeze(self) -> None:
        """From now on nothing is passed on, in either direction."""
        self._frozen.set()

    def thaw(self) -> None:
        """Pass on what comes from now on; what was swallowed is lost, and so are its connections."""
        self._frozen.clear()

    def _run(self) -> None:
        with selectors.DefaultSelector() as ready, self._listener:
            ready.register(self._listener, selectors.EVENT_READ, None)
            pairs: dict[socket.socket, socket.socket | None] = {}
            while not self._ended.is_set():
                for key, _ in ready.select(0.05):
                    if key.data is None:
                        self._accept(ready, pairs)
                    else:
                        self._pass_on(ready, key.fileobj, pairs)  # type: ignore[arg-type]
            for each in pairs:
                each.close()

    def _accept(
        self, ready: selectors.BaseSelector, pairs: dict[socket.socket, socket.socket | None]
    ) -> None:
        client, _ = self._listener.accept()
        if self._frozen.is_set():
            pairs[client] = None
            ready.register(client, selectors.EVENT_READ, "client")
            return
        server = socket.create_connection(("127.0.0.1", self._target))
        for one, other in ((client, server), (server, client)):
            pairs[one] = other
            ready.register(one, selectors.EVENT_READ, "pair")

    def _pass_on(
        self,
        ready: selectors.BaseSelector,
        source: socket.socket,
        pairs: dict[socket.socket, socket.socket | None],
    ) -> None:
        if source not in pairs:
            return
        other = pairs[source]
        try:
            given = source.recv(65536)
        except OSError:
            given = b""
        if self._frozen.is_set():
            if not given:
                # An end is a kind of answer: it is swallowed as well.
                ready.unregister(source)
                source.close()
                del pairs[source]
                if other is not None:
                    pairs[other] = None
            return
        try:
            if given and other is not None:
                other.sendall(given)
                return
        except OSError:
            pass
        for each in (source, other):
            if each is not None and each in pairs:
                ready.unregister(each)
                del pairs[each]
                each.close()
