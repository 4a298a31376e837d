"""Which handlers, schedules, pollers and duties this code knows, and the typed handles to enqueue them."""

from hubqueue.registry.duties import Cadence, Duty, duty
from hubqueue.registry.handlers import AbandonHook, Handler, Item, Prepared
from hubqueue.registry.known import Registry, handler, registry
from hubqueue.registry.pollers import Poller, poller
from hubqueue.registry.schedules import Missed, Schedule, periodic

__all__ = [
    "AbandonHook",
    "Cadence",
    "Duty",
    "Handler",
    "Item",
    "Missed",
    "Poller",
    "Prepared",
    "Registry",
    "Schedule",
    "duty",
    "handler",
    "periodic",
    "poller",
    "registry",
]
