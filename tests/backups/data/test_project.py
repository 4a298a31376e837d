"""What the project's own applications declare comes back into a freshly migrated database."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.signals import post_save, pre_save

from backups.data import checksum
from backups.data.export import Export
from backups.data.lines import lines
from backups.data.load import load
from backups.data.snapshot import snapshot
from backups.data.spec import discover
from backups.data.tables import Table, tables
from hubqueue.models import Job, Operation
from leads import services
from leads.models import Event, Lead, Registration, WalkMark
from notifications.models import Preference
from tests.backups.data.databases import database
from tests.leads.made import make_event, walk_until_done


def fill() -> None:
    boss = User.objects.create_user("boss", email="boss@example.org", password="right")
    group = Group.objects.create(name="officers")
    group.permissions.set(Permission.objects.filter(codename__startswith="view_lead"))
    boss.groups.add(group)
    Preference.objects.create(person=boss, category="x", channel="mail", since=boss.date_joined)
    Operation.objects.create(
        verb="park", target="1", actor="boss", reason="why", at=boss.date_joined
    )
    services.create_rule(name="everybody", on_create=True)
    event = make_event()
    for number in range(3):
        services.register(event, name=f"Ä {number}", phone=str(number))
    walk_until_done()
    for model in (Lead, WalkMark, Job):
        assert model.objects.exists()


def checksums(chosen: list[Table], using: str) -> dict[str, checksum.Checksum]:
    with snapshot(chosen, using) as taken:
        return checksum.of_tables(taken.connection, chosen)


@pytest.fixture(scope="module", autouse=True)
def copy(django_db_setup: None, django_db_blocker: Any) -> Iterator[BaseDatabaseWrapper]:
    """Made before the test case, which forbids what it does not know."""
    with django_db_blocker.unblock(), database("copy") as made:
        yield made


@pytest.mark.slow
@pytest.mark.django_db(transaction=True, databases=["default", "copy"])
def test_the_projects_rows_come_back_into_a_migrated_database(copy: BaseDatabaseWrapper) -> None:
    fill()
    chosen = tables(discover())
    sent: list[object] = []
    call_command("migrate", database="copy", verbosity=0)
    # Its numbers differ from those here, as in any installation with another history.
    Permission.objects.using("copy").filter(codename__startswith="view_lead").delete()
    call_command("migrate", database="copy", verbosity=0)
    with snapshot(chosen) as taken:
        assert taken.migrations["leads"][0] == "0001_leads"
        for signal in (pre_save, post_save):
            signal.connect(sent.append, weak=False, dispatch_uid="seen")
        with transaction.atomic(using="copy"):
            load(copy, [(table, lines(Export(taken, table))) for table in chosen])
        for signal in (pre_save, post_save):
            signal.disconnect(dispatch_uid="seen")
    assert checksums(chosen, "copy") == checksums(chosen, "default")
    assert sent == []
    assert not Job.objects.using("copy").exists()
    boss = User.objects.using("copy").get(username="boss")
    assert boss.check_password("right")
    assert boss.groups.get().permissions.filter(codename="view_lead").exists()
    assert User.objects.db_manager("copy").create_user("next").pk > boss.pk
    # The trigger stamped them with a transaction of this database.
    assert set(Registration.objects.using("copy").values_list("changed_xid")) != {(0,)}


@pytest.mark.django_db(transaction=True)
def test_a_tenants_rows_are_found_through_every_path() -> None:
    fill()
    Event.objects.update(tenant_id="one")
    Event.objects.create(code="other", name="Other", tenant_id="two")
    chosen = tables(discover())
    with snapshot(chosen) as taken:
        held = {table.label: checksum.of_table(taken.connection, table, "one") for table in chosen}
        exported = [Export(taken, table, "one") for table in chosen]
        blocks = [b"".join(each) for each in exported]
    assert [checksum.of_lines(lines([block])) for block in blocks] == list(held.values())
    rows = {label.partition(".")[2]: one.rows for label, one in held.items() if one.rows}
    assert rows["Event"] == rows["LeadRule"] == rows["LeadProvenance"] == 1
    assert rows["Registration"] == rows["LeadProvenanceRegistration"] == 3
    assert not rows.keys() & {"User", "Group", "Permission", "Preference", "Operation"}
