"""What an export gives goes into an archive and comes out as it was."""

import pytest

from backups.archive.manifest import Snapshot
from backups.archive.read import open_archive
from backups.archive.schema import known
from backups.archive.write import ArchiveWriter
from backups.data.export import Export
from backups.data.snapshot import snapshot
from backups.data.spec import discover
from backups.data.tables import tables
from leads.models import Event
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import KEY, RING, about


@pytest.mark.django_db(transaction=True)
def test_every_table_of_the_project_goes_in_and_comes_out(store: Directory) -> None:
    Event.objects.bulk_create(Event(code=f"E{number}", name="Näh\n") for number in range(50))
    chosen = tables(discover())
    with snapshot(chosen) as taken:
        told = about(
            schema=taken.migrations,
            snapshot=Snapshot(at=taken.taken_at, transactions=taken.transactions),
        )
        writer = ArchiveWriter(store, told, KEY)
        for table in chosen:
            writer.add_rows(table.label, Export(taken, table))
        written = {table.label: b"".join(Export(taken, table)) for table in chosen}
        writer.finish()
    archive = open_archive(store, str(told.name), RING, schema=known())
    assert list(archive.manifest.counts) == [table.label for table in chosen]
    assert archive.manifest.counts["leads.Event"] == 50
    assert {label: b"".join(archive.rows(label)) for label in written} == written
    assert archive.manifest.snapshot.transactions == taken.transactions
