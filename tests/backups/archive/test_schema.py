"""An archive of newer code is refused, one of older code is not."""

import shutil

import pytest

from backups.archive.read import open_archive
from backups.archive.schema import known, refuse_ahead
from backups.errors import SchemaAhead
from tests.backups.archive.directory import Directory
from tests.backups.archive.made import RING, write


def test_an_archive_of_newer_code_is_refused(store: Directory) -> None:
    here = {"leads": ["0001_initial"]}
    name = str(write(store).name)
    assert open_archive(store, name, RING, schema=here)
    shutil.rmtree(store.root / name)
    name = str(write(store, schema={"leads": ["0001_initial", "0099_more"]}).name)
    with pytest.raises(
        SchemaAhead, match="with leads.0099_more: install the version that wrote it"
    ):
        open_archive(store, name, RING, schema=here)
    with pytest.raises(SchemaAhead, match=r"leads.0001_initial, leads.0099_more: "):
        open_archive(store, name, RING, schema={})
    assert open_archive(store, name, RING)  # to look at it is no harm


def test_history_is_not_taken_for_news() -> None:
    here = {"leads": ["0001_squashed", "0002_more"]}
    squashed = {"leads": ["0001_initial", "0002_gone", "0001_squashed", "0002_more"]}
    refuse_ahead(squashed, here, apps=["leads"])
    refuse_ahead({"removed": ["0001_initial"]}, here, apps=["leads"])
    with pytest.raises(SchemaAhead, match=r"removed.0001_initial"):
        refuse_ahead({"removed": ["0001_initial"]}, here, apps=["removed"])
    with pytest.raises(SchemaAhead, match=r"leads.4, leads.5, leads.6 and 1 more"):
        refuse_ahead({"leads": ["0002_more", "4", "5", "6", "7"]}, here, apps=[])


def test_what_this_code_writes_is_not_ahead_of_it() -> None:
    here = known()
    assert "0001_jobs" in here["hubqueue"]
    refuse_ahead(here, here, apps=here)
