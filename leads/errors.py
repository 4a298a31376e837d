"""Every refusal of the leads app. Each has a stable code; messages hold no value of a registration."""

from hubqueue.errors import HubqueueError


class LeadError(HubqueueError):
    """Base of all of them."""

    code = "leads.error"


class LeadRequestNotFound(LeadError):
    """The event was never armed: there is no request to act on."""

    code = "leads.request_not_found"


class LeadRequestBusy(LeadError):
    """A walk holds a fresh lease on the request."""

    code = "leads.request_busy"


class LeadVerbRefused(LeadError):
    """An officer's verb does not fit the request as it stands."""

    code = "leads.verb_refused"


class RegistrationMoveRefused(LeadError):
    """A registration cannot make this move from the state it is in."""

    code = "leads.registration_move_refused"


class WalkLeaseLost(LeadError):
    """The walk no longer holds its request. Its transaction rolls back, it changes nothing more."""

    code = "leads.lease_lost"


class ImportRefused(LeadError):
    """A file cannot be imported at all. Nothing of it was."""

    code = "leads.import_refused"


class SinkError(LeadError):
    """A sink did not take a group. ``reason`` is short and safe to show, beside the code."""

    code = "leads.sink_error"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SinkRefused(SinkError):
    """The sink says no to this group; the next one may fare better."""

    code = "leads.sink_refused"


class SinkNotWired(SinkError):
    """No sink is set, or the one that is set cannot be used."""

    code = "leads.sink_not_wired"


class SinkUnreachable(SinkError):
    """The sink gave no answer in time or is out of order: no group would fare better now."""

    code = "leads.sink_unreachable"


class SinkAddressRefused(SinkError):
    """The sink's address is private, and private ones are not allowed."""

    code = "leads.sink_address_refused"


class SinkAnswerRefused(SinkError):
    """The sink answered with something that is no answer: a redirect, too much, or no lead id."""

    code = "leads.sink_answer_refused"


# After one of these the walk stops: every further group would meet the same.
STOPPERS = (SinkNotWired, SinkUnreachable, SinkAddressRefused)
