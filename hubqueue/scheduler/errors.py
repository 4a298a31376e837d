"""What may go wrong in a duty, with the code that is stored for it."""

from hubqueue.errors import HubqueueError


class PartlyFailed(HubqueueError):
    """A duty did its work for some and failed for others, which are named in the log."""

    code = "partly_failed"


class Overran(HubqueueError):
    """A duty did not end within its deadline and was cut off."""

    code = "timeout"


class StillRunning(HubqueueError):
    """A duty that was cut off earlier has not ended yet, so it is not started again."""

    code = "still_running"


class Stopped(HubqueueError):
    """The scheduler was told to end while a duty ran."""

    code = "stopped"
