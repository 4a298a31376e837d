"""The archive's files, written before a row is touched. Who takes over goes on behind the last that was noted."""

from backups.files.columns import storages_of
from backups.files.give import Counted, give_files, refuse_files
from backups.restoring.work import Work, write

NOTED = 100  # files between two notes of how many are done


def look_at_files(work: Work) -> Counted:
    """What the archive has of files, each read to its end. Raises as ``refuse_files``, and ``StopRequested``."""
    return refuse_files(
        work.chain,
        storages_of(work.chosen),
        examine=True,
        told=lambda _: work.job.checkpoint(),
    )


def write_files(work: Work) -> None:
    """Write what is not there yet. Nothing is taken away: names of other rows are not known here. Raises as
    ``give_files``, and ``StopRequested``, ``LeaseLost``."""

    def told(done: int) -> None:
        work.job.checkpoint()
        if done % NOTED == 0:
            with work.job.transaction():
                write(work.restore, line=done)

    give_files(work.chain, storages_of(work.chosen), after=work.restore.line, told=told)
