"""Whether there is a tenant of a name. Nobody keeps a list of tenants: their rows tell, and archives of them."""

from django.core.exceptions import ValidationError
from django.db.models import Q

from backups.data.spec import discover
from backups.data.tables import Table, tables
from backups.errors import TenantUnknown
from backups.whole import whole_archives


def refuse_unknown(tenant: str | None) -> None:
    """Raise ``TenantUnknown`` when no row of any declared model is this tenant's: only shared rows would be archived.

    One whose rows are all gone is known as long as there is an archive of them. None = the whole installation.
    """
    if tenant is None or whole_archives().filter(tenant=tenant).exists():
        return
    if not any(_has_rows(table, tenant) for table in tables(discover())):
        raise TenantUnknown(
            f"Expected a tenant that has rows here, got {tenant!r}, which no row and no archive names:"
            " look how it is spelled, or wait for its first row."
        )


def _has_rows(table: Table, tenant: str) -> bool:
    own: Q | None = table.own_of(tenant)
    if own is None:
        return False
    try:
        return bool(table.model._base_manager.filter(own).exists())
    except (ValueError, ValidationError):  # the column is of numbers or UUIDs, and this is none
        return False
