"""A target that takes objects only while the attempt that sends them holds its job."""

from collections.abc import Iterable, Iterator

from backups.targets.store import Store, Stored
from hubqueue.api import JobContext


class Fenced(Store):
    """Another store, watched. ``put`` raises ``StopRequested`` between two pieces when the attempt is to stop.

    What an attempt that lost its job still sends gets no final name, and it deletes nothing: ``LeaseLost``. The
    moment between that question and the target's own answer is left, which is why archives are read back.
    """

    def __init__(self, store: Store, job: JobContext) -> None:
        self._store, self._job = store, job

    def put(self, name: str, pieces: Iterable[bytes]) -> int:
        return self._store.put(name, self._watched(pieces))

    def get(self, name: str) -> Iterator[bytes]:
        for piece in self._store.get(name):
            self._job.checkpoint()
            yield piece

    def list(self, prefix: str = "") -> Iterator[Stored]:
        return self._store.list(prefix)

    def size(self, name: str) -> int:
        return self._store.size(name)

    def delete(self, name: str) -> None:
        self._ask()
        self._store.delete(name)

    def close(self) -> None:
        self._store.close()

    def _watched(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        self._job.checkpoint()
        for piece in pieces:
            yield piece
            self._job.checkpoint()
        self._ask()

    def _ask(self) -> None:
        self._job.checkpoint()
        with self._job.transaction():
            pass
