"""The tenant's rows go, what refers before what is referred to, a batch at a time."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Q

from backups.data.tables import Table
from backups.models import RestoreKey
from backups.restoring.batch import key_of
from backups.restoring.notes import adopt, key_of_value, note, noted, read, values
from backups.restoring.outside import outsiders
from backups.restoring.reading import BATCH, batches, rows
from backups.restoring.steps import (
    Part,
    Step,
    is_found_by_others,
    leads_to_a_tenant,
    references_of,
    steps,
)
from backups.restoring.work import Work, write

LOAD = "load"


def begin(work: Work) -> None:
    """Note the keys of rows that are found through rows that go before them, in the caller's transaction."""
    for table in work.chosen:
        own = table.own_of(work.tenant)
        if own is None or not is_found_by_others(table):
            continue
        found = _rows(work, table).filter(own).values_list("pk", flat=True).distinct()
        keys = map(key_of_value, found.iterator(chunk_size=BATCH))
        note(work.restore, table.label, keys)
        adopt(work.restore, table.label)
        note(work.restore, table.label, _left_by_all(work, table))


def _left_by_all(work: Work, table: Table) -> Iterator[str]:
    """The keys of rows that lead to no tenant any more, and that the archive holds or that refer to the tenant's."""
    if table.declared.shared_without:
        return
    of_somebody = _rows(work, table).filter(leads_to_a_tenant(table))
    left = _rows(work, table).exclude(pk__in=of_somebody.values("pk"))
    for reference in references_of(table):
        target = next(each for each in work.chosen if each.label == reference.label)
        if (own := target.own_of(work.tenant)) is not None:
            mine = _rows(work, target).filter(own).values(reference.field.target_field.attname)
            referring = left.filter(**{f"{reference.field.attname}__in": mine})
            yield from map(key_of_value, referring.values_list("pk", flat=True).iterator(BATCH))
    for archive in work.chain:  # one, or none where rows only go
        if table.label not in archive.manifest.counts:
            continue
        for batch in batches(rows(archive, table)):
            work.job.checkpoint()
            keys = [read(table, [row[column] for column in key_of(table)]) for row in batch]
            yield from map(key_of_value, left.filter(pk__in=keys).values_list("pk", flat=True))


def clear(work: Work) -> None:
    """Take away all that belongs to the tenant alone; ``cleared`` is written in the last transaction of it.

    Raises ``LoadRefused``, ``StopRequested``, ``LeaseLost``.
    """
    # All that is declared, not only what is in the archive: that may be of an earlier version.
    ordered = steps(work.chosen, {table.label for table in work.chosen})
    while not work.restore.cleared:
        for step in reversed(ordered):
            while _left(work, step):
                _clear_some(work, step)
        with work.batch():
            if not any(_left(work, step) for step in ordered):
                write(work.restore, cleared=True, phase=LOAD, label="", line=0, rows=0)


def _clear_some(work: Work, step: Step) -> None:
    """One transaction."""
    with work.batch():
        while _clear_batch(work, step) and step.at_once:
            pass


def _clear_batch(work: Work, step: Step) -> int:
    for part in step.parts:
        if part.late and (unlinked := _unlink(work, part)):
            return unlinked
    # All of a table before the next one, through which it may be found.
    for part in reversed(step.parts):
        if gone := _take_away(work, part.table):
            return gone
    return 0


def _unlink(work: Work, part: Part) -> int:
    """References in a circle are forgotten first."""
    own = part.table.own_of(work.tenant)
    if own is None or is_found_by_others(part.table):
        return 0
    fields = [each.field for each in part.references if each.own_column in part.late]
    linked = Q()
    for field in fields:
        linked |= Q(**{f"{field.attname}__isnull": False})
    keys = list(
        _rows(work, part.table).filter(own).filter(linked).values_list("pk", flat=True)[:BATCH]
    )
    if not keys:
        return 0
    forgotten: dict[str, Any] = {field.name: None for field in fields}
    return int(_rows(work, part.table).filter(pk__in=keys).update(**forgotten))


def _take_away(work: Work, table: Table) -> int:
    own = table.own_of(work.tenant)
    if own is None:
        return 0
    if is_found_by_others(table):
        return _take_noted(work, table)
    # Not distinct: a way that leads over nothing but what the row refers to finds each once.
    keys = list(_rows(work, table).filter(own).values_list("pk", flat=True)[:BATCH])
    return _delete(work, table, keys)


def _take_noted(work: Work, table: Table) -> int:
    some = list(noted(work.restore, table.label)[:BATCH])
    _delete(work, table, values(table, some))
    RestoreKey.objects.filter(pk__in=[each.pk for each in some]).delete()
    return len(some)


def _delete(work: Work, table: Table, keys: Sequence[Any]) -> int:
    if not keys:
        return 0
    using = work.job.using
    going = _rows(work, table).filter(pk__in=keys)
    for outsider in outsiders(table, work.chosen):
        outsider.part(using, list(going.values_list(outsider.target, flat=True)))
    going._raw_delete(using)
    return len(keys)


def _left(work: Work, step: Step) -> bool:
    return any(_is_left(work, part.table) for part in step.parts)


def _is_left(work: Work, table: Table) -> bool:
    own = table.own_of(work.tenant)
    if own is None:
        return False
    if is_found_by_others(table):
        return noted(work.restore, table.label).exists()
    return bool(_rows(work, table).filter(own).exists())


def _rows(work: Work, table: Table) -> Any:
    return table.model._base_manager.using(work.job.using).order_by()
