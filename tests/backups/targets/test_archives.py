"""An archive is written, told and read at every kind of target."""

from backups.archive.listing import State, archives
from backups.archive.verify import verify
from backups.archive.write import ArchiveWriter
from backups.errors import MemberMissing
from backups.targets.names import is_name
from backups.targets.open_target import OpenTarget
from backups.targets.walking import Entry, walk
from tests.backups.archive.made import KEY, RING, about, expected, fill, read, write


def test_an_archive_is_whole_at_every_kind_of_target(store: OpenTarget) -> None:
    name = str(write(store).name)
    begun = about(scope="tenant-7")
    fill(ArchiveWriter(store, begun, KEY))
    assert {each.name: each.state for each in archives(store)} == {
        name: State.COMPLETE,
        str(begun.name): State.UNFINISHED,
    }
    assert read(store, name) == expected()
    assert verify(store, name, RING).sound

    store.delete(f"{name}/data/leads.lead.jsonl.zst")
    (finding,) = verify(store, name, RING).findings
    assert finding.code == MemberMissing.code

    again = ArchiveWriter(store, begun, KEY)
    fill(again)
    again.finish()
    assert read(store, str(begun.name)) == expected()


def test_a_server_that_tells_of_directories_without_an_end_is_listed_to_an_end():
    endless = [Entry("again", True, 0), Entry("object", False, 1)]
    found = [each.name for each in walk(lambda _: endless, "")]
    assert found[0] == "again/" * 132 + "object"
    assert found[-1] == "object"
    assert all(map(is_name, found))
