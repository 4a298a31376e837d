"""The whole database, into an archive."""

from collections.abc import Iterator

from backups.archive.manifest import Manifest
from backups.errors import ContentUnknown
from backups.running.attempt import Attempt
from backups.system.dump import Dump, dumped


def write_system(attempt: Attempt, *, until: float) -> Manifest:
    """Write a dump of the database that jobs are in, of one moment that is taken now. Progress goes to ``until``.

    Raises ``ContentUnknown`` for a tenant's: the whole is everybody's.
    """
    if attempt.run.tenant is not None:
        raise ContentUnknown("expected a run of the whole installation, got one of a tenant")
    with dumped(attempt.job.using, attempt.job.checkpoint) as dump:
        writer = attempt.writer_of(dump.taken)
        writer.add_dump(_told(attempt, dump, until))
        return writer.finish()


def _told(attempt: Attempt, dump: Dump, until: float) -> Iterator[bytes]:
    sent = 0
    for piece in dump.pieces:
        yield piece
        sent += len(piece)
        attempt.pace.at(until * sent / max(sent, dump.size))
