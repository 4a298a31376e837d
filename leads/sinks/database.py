"""Leads in this database, written in the transaction of their provenance."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Case, F, Value, When
from django.db.models import IntegerField as Integer

from hubqueue.querysets import Now
from leads.grouping import Group
from leads.models import Grouping, Lead
from leads.sinks.base import Sink


class DatabaseSink(Sink):
    """Writes ``Lead`` rows: a page's groups cost three statements, however many they are."""

    inside_database = True

    def create_lead(self, group: Group) -> str:
        return self.create_leads([group])[0]

    def update_lead(self, lead_id: str, group: Group) -> None:
        self.update_leads([group])

    def create_leads(self, groups: Sequence[Group]) -> list[str]:
        rows = [Lead(**_columns(group)) for group in groups]
        Lead.objects.bulk_create(rows, ignore_conflicts=True)
        keys = [group.key for group in groups]
        stored = {
            key: str(lead_id)
            for lead_id, key in Lead.objects.filter(
                rule_id=groups[0].rule_id, group_key__in=keys
            ).values_list("id", "group_key")
        }
        return [stored[key] for key in keys]

    def update_leads(self, groups: Sequence[Group]) -> None:
        totals = [When(id=group.lead_id, then=Value(group.total)) for group in groups]
        Lead.objects.filter(id__in=[group.lead_id for group in groups]).update(
            registrations=Case(*totals, default=F("registrations"), output_field=Integer()),
            updated_at=Now(),
        )


def _columns(group: Group) -> dict[str, Any]:
    first = group.new[0]
    by_order = group.grouping == Grouping.PER_ORDER
    title = first.sale_order_id if by_order else group.key.rsplit(":", 1)[-1]
    return {
        "rule_id": group.rule_id,
        "group_key": group.key,
        "event_id": group.event.pk,
        "tenant_id": group.event.tenant_id,
        "name": f"{group.event.name}: {title}"[:300],
        "contact_name": first.name,
        "email": first.email,
        "phone": first.phone,
        "company_name": first.company_name,
        "partner_id": first.partner_id,
        "sale_order_id": first.sale_order_id if by_order else "",
        "registrations": group.total,
    }
