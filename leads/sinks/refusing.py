"""The default: nothing is wired, and it says so."""

from leads.errors import SinkNotWired
from leads.grouping import Group
from leads.sinks.base import Sink


class RefusingSink(Sink):
    """Refuses every group, so that an installation without a sink parks its requests for all to see."""

    inside_database = True

    def __init__(self, reason: str = "no sink is set; set LEADS_SINK") -> None:
        self.reason = reason

    def create_lead(self, group: Group) -> str:
        raise SinkNotWired(self.reason)

    def update_lead(self, lead_id: str, group: Group) -> None:
        raise SinkNotWired(self.reason)
