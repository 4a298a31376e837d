"""The officers' verbs on a lead request in words, with the permission each needs."""

from datetime import datetime

from hubqueue.admin.ask import Verb
from leads import officers
from leads.admin.standing import is_walked
from leads.errors import LeadError
from leads.models import LeadRequest

VERBS = {
    "run": Verb(
        "run",
        "Run now",
        "Every registration of the event is looked at now, whether the request is done or not.",
        "leads.run_leadrequest",
        "a worker walks it now; this page follows.",
        lambda row, actor, reason: officers.run(row.event_id, actor=actor, reason=reason),
        LeadError,
    ),
    "park": Verb(
        "park",
        "Park",
        "No leads of the event are generated until somebody releases it. A walk ends at its next page.",
        "leads.park_leadrequest",
        "parked.",
        lambda row, actor, reason: officers.park(row.event_id, actor=actor, reason=reason),
        LeadError,
    ),
    "release": Verb(
        "release",
        "Release",
        "The next pass takes the event again.",
        "leads.release_leadrequest",
        "released; the next pass takes it.",
        lambda row, actor, reason: officers.release(row.event_id, actor=actor, reason=reason),
        LeadError,
    ),
    "rearm": Verb(
        "rearm",
        "Arm again",
        "The next pass looks at every registration of the event, at once even after a failure.",
        "leads.rearm_leadrequest",
        "armed; the next pass looks at every registration.",
        lambda row, actor, reason: officers.rearm(row.event_id, actor=actor, reason=reason),
        LeadError,
    ),
}


def fitting(row: LeadRequest, now: datetime) -> list[Verb]:
    """The verbs that would not be refused as the request stands now."""
    if row.parked_at is not None:
        return [VERBS["release"], VERBS["rearm"]]
    run = [] if is_walked(row, now) else [VERBS["run"]]
    return [*run, VERBS["rearm"], VERBS["park"]]
