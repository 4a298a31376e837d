"""Where leads go: the setting ``LEADS_SINK`` names one of these, or one of your own."""

from django.utils.module_loading import import_string

from leads.conf import conf
from leads.sinks.base import Sink
from leads.sinks.database import DatabaseSink
from leads.sinks.http import HttpSink
from leads.sinks.refusing import RefusingSink

__all__ = ["DatabaseSink", "HttpSink", "RefusingSink", "Sink", "current"]


def current() -> Sink:
    """A sink of the class that ``LEADS_SINK`` names; one that refuses all when it cannot be made."""
    try:
        made = import_string(conf().leads_sink)()
    except (ImportError, TypeError):
        return RefusingSink("LEADS_SINK names no class that can be made")
    if not isinstance(made, Sink):
        return RefusingSink("LEADS_SINK names a class that is no Sink")
    return made
