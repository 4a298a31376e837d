"""The archive's rows are written, a batch at a time. Who takes over goes on where the last commit was."""

from collections.abc import Iterator, Sequence

from backups.data.load import set_sequences
from backups.models import BackupRestore
from backups.restore.quiet import quiet
from backups.restoring.batch import check_references, link, these, types_of, write
from backups.restoring.notes import key_of_row, note, noted
from backups.restoring.reading import Row, batches, rows
from backups.restoring.steps import Part, Step, is_found_by_others, parts_of
from backups.restoring.translate import translated
from backups.restoring.work import Work

Mode, IfThere = BackupRestore.Mode, BackupRestore.IfThere


def load(work: Work) -> None:
    """Write all rows. Those that are shared, and there, are left as they are; and see ``BackupRestore.IfThere``.

    What is written tells nobody: its applications' ``quiet`` is done in the transaction of each batch. References to
    rows that come later are NULL until ``set_references``. Raises ``LoadRefused``, ``ArchiveError``,
    ``TargetError``, ``StopRequested``, ``LeaseLost``.
    """
    for step in _from_where_it_was(work):
        if step.at_once:
            with work.batch():
                for part in step.parts:
                    for batch in _batches(work, part):
                        work.job.checkpoint()
                        _write(work, part, batch)
                for part in step.parts:
                    check_references(work.connection, part.table)
                _told(work, step.parts[-1], _count(work, step.parts[-1]), _counts(work, step))
        else:
            for part in _parts_left(work, step):
                _load_part(work, part)


def set_references(work: Work) -> None:
    """Set the references that had to wait. Raises as ``load`` does."""
    parts = [part for part in parts_of(work.steps) if part.late]
    labels = [part.table.label for part in parts]
    start = labels.index(work.restore.label) if work.restore.label in labels else 0
    for part in parts[start:]:
        done = work.restore.line if work.restore.label == part.table.label else 0
        types = types_of(work.connection, part.table)
        for batch in _batches(work, part, after=done):
            with work.batch():
                ours = _written_here(work, part, batch)
                link(work.connection, part.table, types, ours, part.late)
                check_references(work.connection, part.table)
                done += len(batch)
                work.moved(label=part.table.label, line=done)


def set_numbers(work: Work) -> None:
    """The sequences of the tables go on beyond their rows. Raises ``StopRequested``, ``LeaseLost``."""
    with work.batch():
        for part in parts_of(work.steps):
            set_sequences(work.connection, part.table)


def _batches(work: Work, part: Part, *, after: int = 0) -> Iterator[Sequence[Row]]:
    for batch in batches(rows(work.archive, part.table), after=after):
        yield translated(work, part, batch)


def _load_part(work: Work, part: Part) -> None:
    done = work.restore.line if work.restore.label == part.table.label else 0
    for batch in _batches(work, part, after=done):
        with work.batch():
            _write(work, part, batch)
            check_references(work.connection, part.table)
            done += len(batch)
            _told(work, part, done, len(batch))


def _write(work: Work, part: Part, batch: Sequence[Row]) -> None:
    if_there = rule_of(work, part)
    types = types_of(work.connection, part.table)
    written = write(work.connection, part.table, types, batch, late=part.late, if_there=if_there)
    if part.table.declared.quiet and written:
        quiet(work.connection, [part.table], these(work.connection, part.table, types, written))
    if _is_noted(part, if_there):
        keys = [key_of_row(part.table, row) for row in written]
        note(work.restore, part.table.label, keys)


def _is_noted(part: Part, if_there: str) -> bool:
    """What ``set_references`` must tell from what was there, and what no lookup finds until all is written."""
    if part.late and if_there == IfThere.SKIP:
        return True
    return is_found_by_others(part.table) and not part.table.declared.shared_without


def _written_here(work: Work, part: Part, batch: Sequence[Row]) -> list[Row]:
    """Not those that were there and were left as they are."""
    if rule_of(work, part) != IfThere.SKIP:
        return list(batch)
    keys = [key_of_row(part.table, row) for row in batch]
    found = noted(work.restore, part.table.label).filter(key__in=keys)
    ours = set(found.values_list("key", flat=True))
    return [row for row, key in zip(batch, keys, strict=True) if key in ours]


def rule_of(work: Work, part: Part) -> str:
    """What becomes of a row whose key is there, ``IfThere``; empty: it is refused.

    Shared rows belong to others as well. A row of the tenant's that is there after a clear is somebody else's.
    """
    if part.table.declared.shared or part.table.declared.shared_without:
        return IfThere.SKIP
    return work.restore.if_there if work.restore.mode == Mode.MERGE else ""


def _from_where_it_was(work: Work) -> Sequence[Step]:
    labels = [[part.table.label for part in step.parts] for step in work.steps]
    for place, found in enumerate(labels):
        if work.restore.label in found:
            return work.steps[place + work.steps[place].at_once :]
    return work.steps


def _parts_left(work: Work, step: Step) -> Sequence[Part]:
    labels = [part.table.label for part in step.parts]
    return (
        step.parts[labels.index(work.restore.label) :]
        if work.restore.label in labels
        else step.parts
    )


def _told(work: Work, part: Part, line: int, more: int) -> None:
    work.moved(label=part.table.label, line=line, rows=work.restore.rows + more)


def _count(work: Work, part: Part) -> int:
    return work.archive.manifest.counts[part.table.label]


def _counts(work: Work, step: Step) -> int:
    return sum(_count(work, part) for part in step.parts)
