"""What a sink is: it makes a lead of a group, and lets it grow."""

from collections.abc import Sequence
from typing import ClassVar

from leads.grouping import Group


class Sink:
    """Base of all sinks. Methods raise ``SinkError`` for a refusal.

    Creating is get-or-create on ``group.idempotency_key``: a group whose lead was made by an attempt
    that did not live to tell comes again, and must be answered with the same lead's id. A lead id has 1
    to 64 characters. A sink that writes to this database says so: then it is called inside the
    transaction that stores the provenance. Every other one is called with no transaction open.
    """

    inside_database: ClassVar[bool] = False

    def create_lead(self, group: Group) -> str:
        """Make the lead of a group, or find the one made earlier. Answers its id."""
        raise NotImplementedError

    def update_lead(self, lead_id: str, group: Group) -> None:
        """Tell the lead of its new members."""
        raise NotImplementedError

    def create_leads(self, groups: Sequence[Group]) -> list[str]:
        """The leads of several groups, in their order. A sink that can say it at once overrides this."""
        return [self.create_lead(group) for group in groups]

    def update_leads(self, groups: Sequence[Group]) -> None:
        """Tell several leads of their new members; every group has its ``lead_id``."""
        for group in groups:
            assert group.lead_id is not None
            self.update_lead(group.lead_id, group)
