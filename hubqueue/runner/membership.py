"""A child's row in the table of workers: without it, it claims nothing."""

import os
import socket
from collections.abc import Sequence
from uuid import UUID

from hubqueue.conf import conf
from hubqueue.lifecycle.workers import Registration, register
from hubqueue.runner.wire import Wire


class Membership:
    """``registered`` once the row was written; the supervisor renews it from then on."""

    def __init__(
        self,
        worker: UUID,
        wire: Wire,
        *,
        queues: Sequence[str],
        kinds: Sequence[str],
        solo: bool,
        using: str,
    ) -> None:
        self._worker = worker
        self._wire = wire
        self._queues = list(queues)
        self._kinds = list(kinds)
        self._solo = solo
        self._using = using
        self._visible = False
        self._forgotten = False
        self.registered = False

    def forgotten(self) -> None:
        """The row is gone: it is to be written anew."""
        self._forgotten = True

    def tend(self, *, visible: bool) -> None:
        """Write the row again when it is gone, or since others can see our sessions by now."""
        if self.registered and (self._forgotten or (visible and not self._visible)):
            self.register(visible=visible)

    def register(self, *, visible: bool) -> None:
        """Write the row. ``visible``: others can tell from our sessions whether we live."""
        register(
            Registration(
                id=self._worker,
                host=socket.gethostname(),
                pid=os.getpid(),
                queues=self._queues,
                kinds=self._kinds,
                solo=self._solo,
                sessions_visible=visible,
            ),
            lease=conf().lease,
            using=self._using,
        )
        self.registered = True
        self._visible = visible
        self._forgotten = False
        self._wire.send({"registered": visible})
