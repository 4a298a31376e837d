"""What a child tells its supervisor once a second: its age, the progress of its jobs, who keeps its event loop."""

from time import monotonic

from hubqueue.runner.doorbell import Doorbell
from hubqueue.runner.evloop import Evloop
from hubqueue.runner.flight import Flight
from hubqueue.runner.rarely import Rarely
from hubqueue.runner.wire import Wire

EVERY = 1.0


class Teller:
    """For the thread of the loop."""

    def __init__(self, wire: Wire, *, flight: Flight, bell: Doorbell, evloop: Evloop) -> None:
        self._wire = wire
        self._flight = flight
        self._bell = bell
        self._evloop = evloop
        self._rarely = Rarely()
        self._told_at = 0.0
        self._blocked = False

    def tell(self) -> bool:
        """Tell, if it is time. Answers whether it was."""
        now = monotonic()
        if now - self._told_at < EVERY:
            return False
        self._told_at = now
        shares = []
        for running in list(self._flight.jobs.values()):
            share = running.watch.progress
            if share is not None and share != running.told:
                running.told = share
                shares.append([str(running.claimed.id), running.claimed.fence, share])
        listen = now - self._bell.heard_at if self._bell.listening else None
        ages = {"listen": listen, "in_flight": len(self._flight.jobs)}
        self._wire.send({"alive": ages, "shares": shares})
        self._tell_blocked()
        return True

    def _tell_blocked(self) -> None:
        """Who keeps the event loop from turning: its neighbours, which cannot be cancelled, are not to blame."""
        seconds, attempt = self._evloop.blocked()
        if seconds or self._blocked:
            self._wire.send({"blocked": str(attempt[0]) if attempt else ""})
        self._blocked = bool(seconds)
        running = self._flight.jobs.get(attempt) if attempt else None
        if running is not None:
            self._rarely.warn(
                "worker: %s keeps the event loop from turning: %d async jobs wait for it",
                running.claimed.kind,
                self._evloop.count,
            )
