"""Archives as tests need them."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from backups.retention.archives import Archive, State
from backups.retention.rule import decide

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2027, 1, 5, 12, tzinfo=UTC)


def at(*clock, zone=UTC, fold=0):
    """The instant when the clocks of ``zone`` show that."""
    return datetime(*clock, tzinfo=zone, fold=fold).astimezone(UTC)


def archive(name, start, **differing):
    """A complete, verified archive of the whole installation."""
    usual = {"scope": "all", "target": "cellar", "state": State.COMPLETE, "verified": True}
    return Archive(id=name, start=start, **(usual | differing))


def decided(archives, plan, *, zone=UTC, now=NOW):
    """(id -> list of words, ids that expire in their order), of scope ``all`` at ``cellar``."""
    decisions = decide(archives, plan, scope="all", target="cellar", zone=zone, now=now)
    stays = {d.archive.id: [r.words for r in d.reasons] for d in decisions if not d.expires}
    gone = sorted((d for d in decisions if d.expires), key=lambda d: d.place)
    assert [d.place for d in gone] == list(range(1, len(gone) + 1))
    assert all(not d.reasons for d in gone)
    return stays, [d.archive.id for d in gone]
