"""The types of events there are: an application registers those it emits when it starts."""

from dataclasses import dataclass

from django.utils.functional import Promise

from notifications.errors import EventTypeUnknown

PING = "webhooks.ping"
LONGEST = 60


@dataclass(frozen=True, slots=True)
class EventType:
    """``name`` is stored and sent, and stable; ``label`` is what an officer reads who subscribes."""

    name: str
    label: str | Promise


_types: dict[str, EventType] = {PING: EventType(PING, "A test")}


def register_event_type(name: str, label: str | Promise) -> EventType:
    """Make a type of event known: dotted lower-case words. Registering a name again replaces its label."""
    if len(name) > LONGEST or not all(word.isidentifier() for word in name.split(".")):
        raise ValueError(f"expected dotted words of up to {LONGEST} characters, got {name!r}")
    _types[name] = EventType(name, label)
    return _types[name]


def event_type(name: str) -> EventType:
    """The type of this name. Raises ``EventTypeUnknown``."""
    try:
        return _types[name]
    except KeyError:
        raise EventTypeUnknown(
            f"no application registered the event type {name!r}; register it in the ready() of its app"
        ) from None


def subscribable() -> list[EventType]:
    """All that can be subscribed to, by name: the test is not among them."""
    return sorted(
        (each for each in _types.values() if each.name != PING), key=lambda each: each.name
    )
