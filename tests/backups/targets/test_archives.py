"""An archive is written, told and read at every kind of target."""

from backups.archive.listing import State, archives
from backups.archive.verify import verify
from backups.archive.write import ArchiveWriter
from backups.errors import MemberMissing
from backups.targets.open_target import OpenTarget
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
