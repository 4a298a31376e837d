"""The account that web and workers have needs no more rights than the documentation says."""

import pytest

from backups.models import BackupRestore, BackupRun
from backups.restores import request_restore
from leads.models import Event
from tests.backups.restoring.conftest import performed
from tests.support.accounts import as_account, sql

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(("mode", "tenant"), [("replace", ""), ("new_tenant", "beta")])
def test_a_tenant_is_restored_by_an_account_that_moves_no_sequence(
    archived: BackupRun,
    account: str,
    mode: str,
    tenant: str,
) -> None:
    """Its rows have numbers that were given here, so that the sequences are beyond them."""
    sql(f"REVOKE UPDATE ON ALL SEQUENCES IN SCHEMA public FROM {account}")
    Event.objects.filter(tenant_id="acme").update(code="renamed")  # it is unique over all tenants
    with as_account(account):
        restore = performed(request_restore(archived, mode=mode, tenant=tenant))
    assert (restore.state, restore.code) == (BackupRestore.State.SUCCEEDED, "")
