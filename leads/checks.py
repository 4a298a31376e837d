"""What ``manage.py check`` says about the settings of this app."""

from collections.abc import Sequence
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Error, register
from django.utils.module_loading import import_string

from hubqueue.appsettings import read
from leads.conf import Conf


@register()
def check_settings(**_: Any) -> Sequence[CheckMessage]:
    """leads.E001: a setting that cannot be used. leads.E002: a sink that does not exist. leads.W001."""
    conf = read(Conf)
    found: list[CheckMessage] = [Error(each, id="leads.E001") for each in conf.problems()]
    if found:
        return found
    if conf.leads_sink == "leads.sinks.RefusingSink":
        found.append(
            checks.Warning(
                "No sink is set: every request will be parked. Set LEADS_SINK to the dotted path of one.",
                id="leads.W001",
            )
        )
    elif not _is_sink(conf.leads_sink):
        found.append(
            Error(
                f"LEADS_SINK must be the dotted path of a leads.sinks.Sink, got {conf.leads_sink!r}.",
                id="leads.E002",
            )
        )
    if conf.leads_sink == "leads.sinks.HttpSink" and not conf.leads_http_url:
        found.append(
            Error(
                "LEADS_HTTP_URL must be set for leads.sinks.HttpSink, got nothing.", id="leads.E003"
            )
        )
    return found


def _is_sink(path: str) -> bool:
    from leads.sinks import Sink

    try:
        named = import_string(path)
    except ImportError:
        return False
    return isinstance(named, type) and issubclass(named, Sink)
