"""Leads in this database, written in the transaction of their provenance."""

from collections.abc import Sequence
from typing import Any

from django.db import connections, router

from hubqueue.ids import uuid7
from leads.grouping import Group
from leads.models import Grouping, Lead
from leads.sinks.base import Sink

# A lead that is there without its provenance knowing is found, not made again.
_CREATE = """
INSERT INTO leads_lead (
    id, rule_id, group_key, event_id, tenant_id, name, contact_name, email, phone, company_name,
    partner_id, sale_order_id, registrations)
SELECT id, %(rule)s, group_key, %(event)s, %(tenant)s, name, contact_name, email, phone, company_name,
    partner_id, sale_order_id, registrations
FROM unnest(
    %(ids)s::uuid[], %(keys)s::text[], %(names)s::text[], %(contacts)s::text[], %(emails)s::text[],
    %(phones)s::text[], %(companies)s::text[], %(partners)s::text[], %(orders)s::text[],
    %(totals)s::int[])
    AS given (id, group_key, name, contact_name, email, phone, company_name, partner_id,
        sale_order_id, registrations)
ON CONFLICT (rule_id, group_key) DO UPDATE SET
    registrations = excluded.registrations, updated_at = hubqueue_now()
RETURNING group_key, id::text
"""

_UPDATE = """
UPDATE leads_lead AS lead SET registrations = given.total, updated_at = hubqueue_now()
FROM unnest(%(ids)s::uuid[], %(totals)s::int[]) AS given (id, total)
WHERE lead.id = given.id
"""


class DatabaseSink(Sink):
    """Writes ``Lead`` rows: a page's groups cost two statements, however many they are."""

    inside_database = True

    def create_lead(self, group: Group) -> str:
        return self.create_leads([group])[0]

    def update_lead(self, lead_id: str, group: Group) -> None:
        self.update_leads([group])

    def create_leads(self, groups: Sequence[Group]) -> list[str]:
        with connections[router.db_for_write(Lead)].cursor() as cursor:
            cursor.execute(_CREATE, _columns(groups))
            made = dict(cursor.fetchall())
        return [made[group.key] for group in groups]

    def update_leads(self, groups: Sequence[Group]) -> None:
        parameters: dict[str, Any] = {
            "ids": [group.lead_id for group in groups],
            "totals": [group.total for group in groups],
        }
        with connections[router.db_for_write(Lead)].cursor() as cursor:
            cursor.execute(_UPDATE, parameters)


def _columns(groups: Sequence[Group]) -> dict[str, Any]:
    """The groups of one page by column: they share a rule and an event."""
    event = groups[0].event
    first = [group.new[0] for group in groups]
    return {
        "rule": groups[0].rule_id,
        "event": event.pk,
        "tenant": event.tenant_id,
        "ids": [uuid7() for _ in groups],
        "keys": [group.key for group in groups],
        "names": [f"{event.name}: {_title(group)}"[:300] for group in groups],
        "contacts": [member.name for member in first],
        "emails": [member.email for member in first],
        "phones": [member.phone for member in first],
        "companies": [member.company_name for member in first],
        "partners": [member.partner_id for member in first],
        "orders": [member.sale_order_id for member in first],
        "totals": [group.total for group in groups],
    }


def _title(group: Group) -> str:
    """The order, or the day that stands at the end of the key."""
    if group.grouping == Grouping.PER_ORDER:
        return group.new[0].sale_order_id
    return group.key.rsplit(":", 1)[-1]
